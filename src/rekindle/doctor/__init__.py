"""From the texts of a run to the cause of its failure: a pure function of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from rekindle.host.files import MOST
from rekindle.records import Ended, Finding, Record, RecordError, RunSpec, read
from rekindle.records.events import ExceptionEvent
from rekindle.records.evidence import Line, read_lines

from . import texts
from .gpu_memory import name_holder
from .overwritten import overwritten
from .scan import Found, known, one_line, raised, search
from .texts import Text

RecordT = TypeVar("RecordT", bound=Record)

__all__ = ["Text", "diagnose_paths", "diagnose_run", "diagnose_texts", "texts"]

_MOST = 1_000
"""Exceptions that are looked at, from the first: what a thousand do not show, more do not."""


def diagnose_run(run_dir: Path, spec: RunSpec | None = None) -> tuple[Finding, ...]:
    """Return what the files of a run, or of any workspace of NVFlare, show: the root cause, then its echoes.

    A trainer's own exception comes first: everything that follows it is an echo. Files are relative to
    ``run_dir``; versions and what was on the GPUs are those of ``spec``, or of spec.json, if there is one.
    """
    spec = spec or _record(run_dir / "spec.json", RunSpec)
    ended = _record(run_dir / "ended.json", Ended)
    installed = spec.versions if spec else {}
    said = list(_said(run_dir))
    if ended:
        said = [texts.since(one, ended.started) if one.file == "autopsy/kernel.txt" else one for one in said]
    events = [
        Line(one.event, one.file, one.line)
        for one in read_lines(run_dir)
        if isinstance(one.event, ExceptionEvent)
    ]
    failed = ended is not None and (ended.reason == "limit" or ended.exit_status not in (0, None))
    found = _in_order(_exceptions(events, installed), said, installed, failed)
    return tuple(name_holder(one, run_dir, spec, said) for one in found)


def diagnose_texts(said: Iterable[Text]) -> tuple[Finding, ...]:
    """Return what texts of any origin show together, as `diagnose_run` does."""
    said = list(said)
    return tuple(name_holder(one, None, None, said) for one in _in_order([], said, {}, False))


def diagnose_paths(paths: Iterable[Path]) -> tuple[Finding, ...]:
    """Return what log files and the folders of runs show; files are named as they were given.

    Raises:
        RecordError: a path is not there, cannot be read, or is a folder without any log.
    """
    files: list[Text] = []
    runs: list[Finding] = []
    for path in paths:
        try:
            if not path.is_dir():
                with path.open("rb") as stream:
                    files.append(texts.read_stream(stream, str(path)))
                continue
            if not any(texts.logs(path)) and not any(path.glob("evidence/*.jsonl")):
                raise RecordError(f"{path} holds no log.", "name a run's folder, a workspace, or a log file.")
            for one in diagnose_run(path):
                runs.append(msgspec.structs.replace(one, file=str(path / one.file) if one.file else None))
        except OSError as error:
            raise RecordError(
                f"{path} cannot be read: {error.strerror}.", "name a log file, or the folder of a run."
            ) from None
    found = [*runs, *diagnose_texts(files)]
    return tuple(sorted(found, key=lambda one: one.echo))


def _said(run_dir: Path) -> Iterator[Text]:
    """Read the logs of a run, as many as are read at all; one that is none is no cause of anything."""
    for path in islice(texts.logs(run_dir), MOST):
        with suppress(OSError):
            yield texts.read(path, path.relative_to(run_dir).as_posix())


def _exceptions(events: list[Line[ExceptionEvent]], installed: Mapping[str, str]) -> list[Found]:
    found = []
    for line in sorted(events, key=lambda one: one.event.time)[:_MOST]:
        event = line.event
        entry = known(f"{event.kind}: {event.message}", installed)
        said = one_line(f"{event.kind}: {event.message}")
        finding = Finding(
            name=entry.finding.name if entry else "exception",
            cause=f"{event.site} rank {event.rank} raised {said} at {event.place}.",
            layer=entry.finding.layer if entry else "job",
            remedy=entry.finding.remedy if entry else f"Mend what raises at {event.place}.",
            confidence=entry.finding.confidence if entry else "certain",
            file=line.file,
            line=line.line,
        )
        found.append(Found(finding, entry.rank if entry else "cause", "", 0))
    return sorted(found, key=lambda one: one.order[0])


def _in_order(
    exceptions: list[Found], said: list[Text], installed: Mapping[str, str], failed: bool
) -> list[Finding]:
    """The root first, then what else was found, each name once; exceptions of trainers before logs."""
    found = sorted((one for text in said for one in search(text, installed)), key=lambda one: one.order)
    emptied = overwritten(said)
    if emptied:
        found.insert(0, emptied)
    if not exceptions and not any(one.rank == "cause" for one in found):
        dug = [one for one in (raised(text, failed or bool(found)) for text in said) if one]
        found = [*sorted(dug, key=lambda one: one.order)[:1], *found]
    names: set[str] = set()
    kept = []
    for one in [*exceptions, *found]:
        if one.finding.name not in names:
            kept.append(one)
        names.add(one.finding.name)
    kept.sort(key=lambda one: one.order[0])
    if kept and kept[0].rank in ("cause", "symptom"):
        kept = [one for one in kept if one.rank != "guess"]
    root = kept[0].rank if kept else "cause"
    return [msgspec.structs.replace(one.finding, echo=one.rank == "echo" or one.rank != root) for one in kept]


def _record(path: Path, kind: type[RecordT]) -> RecordT | None:
    try:
        return read(path, kind) if path.exists() else None
    except RecordError:
        return None
