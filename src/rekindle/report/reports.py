# SPDX-License-Identifier: Apache-2.0
"""All reports of a results folder: the pages, files for programs, and the answer on the terminal."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import to_builtins

from rekindle.host import files, folders, storage
from rekindle.records import explain_unwritten
from rekindle.records.text import change_texts, clean_text
from rekindle.results.causes import group_causes
from rekindle.results.contents import HostResults, Results, gather_results
from rekindle.results.links import refuse_links

from .acceptance import format_worst
from .answer import format_answer
from .data import make_results_data
from .fabric import format_fabric
from .html import Pages
from .junit import render_junit
from .metrics import render_metrics
from .steps import make_host_lists
from .table import measure_terminal


def write_reports(folder: Path) -> Results:
    """Write report.html, results.json, junit.xml and metrics.prom, and a page into each host's folder.

    If one cannot be written, none is left: an earlier one may show that everything passed.

    Raises:
        RecordError: ``folder`` is not a results folder, has links in it, or cannot be written.
    """
    results = gather_results(folder)
    refuse_links(folder)
    try:
        cleaned = change_texts(to_builtins(make_results_data(results)), clean_text)
        pages = Pages(results)
        reports = {
            "report.html": pages.render_all().encode(),
            **{page: pages.render_host(host).encode() for page, host in _pages(results)},
            "results.json": json.dumps(cleaned, indent=2, allow_nan=False).encode() + b"\n",
            "junit.xml": render_junit(results),
            "metrics.prom": render_metrics(results),
        }
        if (folder / folders.HOSTS).is_symlink():
            (folder / folders.HOSTS).unlink()
        for path in files.find_files(folder, f"{folders.HOSTS}/*.txt"):
            path.unlink()
        reports |= {name: text.encode() for name, text in make_host_lists(group_causes(results.rows)).items()}
        for name, content in reports.items():
            with explain_unwritten(folder / name):
                storage.write_file(folder / name, content)
    except BaseException:
        for name in (*folders.REPORTS, *dict(_pages(results))):
            with suppress(OSError):
                (folder / name).unlink()
        raise
    return results


def _pages(results: Results) -> Iterator[tuple[str, HostResults]]:
    """Return the page of each host whose name is one of a folder in the results."""
    for host in results.hosts:
        if host.name not in {"", ".."} and host.name == Path(host.name).name:
            yield f"{host.name}/report.html", host


def format_summary(results: Results, folder: Path | None, note: str = "") -> str:
    """Return a run's last lines on the terminal: the answer, the worst GPUs, a note, the report's path."""
    base = _as_typed(folder) if folder else None
    parts = (
        format_answer(results, base, *measure_terminal()),
        format_worst(results.accepted[0]),
        *(format_fabric(fabric, *measure_terminal()) for fabric in results.fabrics),
        "\n".join(filter(None, (note, str(folder / "report.html") if folder else ""))),
    )
    return "\n\n".join(filter(None, parts))


def _as_typed(folder: Path) -> Path:
    """Return a path as short as it can be typed here."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
