# SPDX-License-Identifier: Apache-2.0
"""The certificate of hosts: a page that prints on one sheet a host, before it is signed."""

from collections.abc import Mapping
from typing import NamedTuple

from rekindle.acceptance import Judgement
from rekindle.acceptance.catalogue import find_comparable, load_measures, pick_best
from rekindle.acceptance.evaluation import format_figure, format_size
from rekindle.records import AcceptanceRecord, AcceptedGpu, Measurement, Timestamp
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.records.text import shorten_text
from rekindle.results.acceptance import FleetAcceptance, read_accepted
from rekindle.results.contents import HostResults

from .html import render_template

_SOURCES, _SOURCE, _WORD = 32, 220, 120
"""What fits on a sheet: sources, and letters of one and of a fact; the template has the other limits."""


class FigureLine(NamedTuple):
    """What all GPUs of a host, or all pairs of them, have of one measurement."""

    name: str
    reading: str
    norm: str
    source: int | None
    """Its number among the sheet's sources."""
    bad: bool


class Sheet(NamedTuple):
    """What a certificate says about one host."""

    of: Judgement
    facts: list[tuple[str, str]]
    gpus: tuple[AcceptedGpu, ...]
    lines: list[FigureLine]
    sources: list[str]


def render_certificate(
    accepted: FleetAcceptance, hosts: Mapping[str, HostResults], issued: Timestamp, fingerprint: str
) -> str:
    """Return the page up to its signature.

    Args:
        accepted: the hosts' judgements.
        hosts: what they had when they were last measured, by their names; others were not measured.
        issued: now.
        fingerprint: of the key that is going to sign it.
    """
    sheets = []
    for of in accepted.hosts:
        result = hosts.get(of.host)
        record = read_accepted(result) if result else None
        if not result or not record:
            sheets.append(Sheet(of, [], (), [], []))
            continue
        lines, sources = _lines(record, {flaw.measurement for flaw in of.flaws if flaw.verdict})
        sheets.append(Sheet(of, _facts(result, record), record.gpus, lines, sources))
    return render_template("certificate.html.j2", sheets=sheets, issued=issued, fingerprint=fingerprint)


def _lines(record: AcceptanceRecord, bad: set[str]) -> tuple[list[FigureLine], list[str]]:
    groups: dict[tuple[str, int | None], list[Measurement]] = {}
    for figure in record.measurements:
        measure = load_measures().get(figure.name)
        if measure and figure.value is not None and (figure.norm is not None or find_comparable(figure)):
            groups.setdefault((figure.name, figure.size if measure.of == "gpus" else None), []).append(figure)
    order, lines = list(load_measures()), []
    sources: list[str] = []
    for (name, size), figures in sorted(
        groups.items(), key=lambda group: (order.index(group[0][0]), group[0][1] or 0)
    ):
        measure = load_measures()[name]
        values = [value for figure in figures if (value := pick_best(figure)) is not None]
        ends = dict.fromkeys(map(format_figure, (min(values), max(values))))
        norms = [figure for figure in figures if figure.norm is not None]
        norm, source = "–", None
        if norms:
            strictest = (max if measure.better == "higher" else min)(figure.norm or 0.0 for figure in norms)
            norm = ("≥ " if measure.better == "higher" else "≤ " if strictest else "") + format_figure(
                strictest
            )
            said = shorten_text(norms[0].source or "", _SOURCE)
            if said not in sources and len(sources) < _SOURCES:
                sources.append(said)
            source = sources.index(said) + 1 if said in sources else None
        at = f" at {format_size(size)}" if size is not None else ""
        reading = f"{' to '.join(ends)} {measure.unit}".rstrip()
        lines.append(FigureLine(f"{name}{at}", reading, norm, source, name in bad))
    return lines, sources


def _facts(result: HostResults, record: AcceptanceRecord) -> list[tuple[str, str]]:
    kind, host = record.kind, result.host
    verdicts = (row.verdict for row in (*result.rows, *result.earlier) if row.job in ACCEPTANCE.values())
    versions = next((verdict.versions for verdict in verdicts if verdict), {})
    nvls = {True: ", with NVLS", False: ", without NVLS", None: ""}[kind.nvls]
    facts = [
        ("measured", f"{record.started}, in {record.seconds:.0f} s, {record.mode}"),
        ("GPUs", f"{kind.count} × {kind.model} by {kind.topology}{nvls}"),
        ("driver", kind.driver),
        ("system", f"{host.os.name}, kernel {host.os.kernel}, {host.os.architecture}" if host else ""),
        (
            "versions",
            ", ".join(f"{name} {text}" for name, text in sorted(versions.items()) if name in _VERSIONS),
        ),
    ]
    return [(name, shorten_text(text, _WORD)) for name, text in facts if text]


_VERSIONS = {"python", "torch", "cuda", "nccl", "nvflare", "vbios"}
