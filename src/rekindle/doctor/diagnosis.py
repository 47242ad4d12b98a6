# SPDX-License-Identifier: Apache-2.0
"""Why something failed, from the files of a run, of a workspace, or from any logs: a cause and a timeline."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from rekindle.host import folders
from rekindle.host.files import MOST
from rekindle.records import Diagnosis, Finding, RecordError, RunEnd, RunSpec
from rekindle.records.base import read_valid
from rekindle.records.events import AnyEvent, ExceptionEvent
from rekindle.records.evidence import EvidenceLine, read_lines

from . import exceptions, roles, texts
from .excerpts import take_excerpt
from .gpu_memory import name_holder
from .imports import explain_import
from .reports import Known, find_followed, find_reports
from .scan import Match, find_known
from .texts import Text, split_ranks
from .timeline import make_timeline

_MOST = 1_000


def diagnose_run(run_dir: Path, spec: RunSpec | None = None, failed: bool | None = None) -> Diagnosis:
    """Return why a run failed, by its files, or by those of any workspace of NVFlare.

    A trainer's own exception comes first, and what follows it is an echo. Files are relative to ``run_dir``.

    Args:
        run_dir: the folder.
        spec: has versions and earlier processes on GPUs; else spec.json there.
        failed: whether the run is known to have failed; None: by its record of its end.
    """
    spec = spec or read_valid(run_dir / folders.SPEC, RunSpec)
    ended = read_valid(run_dir / folders.ENDED, RunEnd)
    if failed is None and ended and (ended.reason == "limit" or ended.exit_status not in (0, None)):
        failed = True
    logs = list(_logs(run_dir, ended))
    installed, nodes = (spec.versions, spec.nodes) if spec else ({}, ())

    def complete(finding: Finding) -> Finding:
        return _name_node(name_holder(finding, run_dir, spec, logs), nodes)

    raised = list(_exceptions(read_lines(run_dir), installed))
    members = roles.gather_member_logs(logs, stopped=bool(ended and ended.reason in ("limit", "hung")))
    return _diagnosis(logs, raised, Known(installed, failed, members), complete)


def diagnose_texts(logs: Iterable[Text]) -> Diagnosis:
    """Return why something failed, by texts of any origin."""
    logs = list(logs)
    known = Known({}, None, roles.gather_member_logs(logs, stopped=False))
    return _diagnosis(logs, [], known, lambda finding: name_holder(finding, None, None, logs))


def read_logs(paths: Iterable[Path]) -> Iterator[Text]:
    """Read log files, which are named as they were given.

    Raises:
        RecordError: a path is not there, or cannot be read.
    """
    for path in paths:
        try:
            with path.open("rb") as stream:
                yield texts.read_stream(stream, str(path))
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}."
            raise RecordError(message, "name a log file, or the folder of a run.") from None


def _diagnosis(
    logs: list[Text], raised: list[Match], known: Known, complete: Callable[[Finding], Finding]
) -> Diagnosis:
    """Return the cause: the first that is raised or known in the process that began; else none."""
    parts = [part for log in logs for part in split_ranks(take_excerpt(log))]
    by_text = [(part, find_reports(part, known)) for part in parts]
    reported = [one for _, of_text in by_text for one in of_text]
    found = list(roles.find_echoes([*reported, *roles.find_silent(known.members)]))
    found[:0] = [*raised, *filter(None, [roles.find_ended_scripts(logs), roles.find_overwritten(logs)])]
    standing = sorted((one for one in found if not one.settled), key=lambda one: one.order)
    by_name: dict[str, Match] = {}
    for one in standing:
        if one.finding.layer and not (by_name and one.doubt and one.finding.name != "exception"):
            by_name.setdefault(one.finding.name, one)
    kept = list(by_name.values())
    if kept and kept[0].rank == "echo":
        of_echo = ((part, of) for part, of in by_text if any(one.is_at(kept[0]) for one in of))
        kept[:0] = filter(None, [find_followed(part, of, kept[0]) for part, of in islice(of_echo, 1)])
    if kept and kept[0].rank in ("cause", "warning", "symptom"):
        kept = [one for one in kept if one.rank != "guess"]
    findings = [
        replace(
            complete(explain_import(one.finding, known.installed)),
            echo=one.rank == "echo" or one.rank != kept[0].rank,
        )
        for one in kept
    ]
    cause = findings[0] if findings and not findings[0].echo else None
    return Diagnosis(
        cause=cause,
        others=tuple(findings[1:] if cause else findings),
        timeline=make_timeline(by_text),
        went_on=bool(found) and not standing,
    )


def _name_node(finding: Finding, nodes: tuple[str, ...]) -> Finding:
    for node in nodes:
        if finding.file and re.fullmatch(rf"{folders.AUTOPSY}/\w+-{re.escape(node)}\.txt", finding.file):
            return replace(finding, cause=f"On {node}: {finding.cause}")
    return finding


def _exceptions(lines: Iterable[EvidenceLine[AnyEvent]], installed: Mapping[str, str]) -> Iterator[Match]:
    """Yield the exceptions that trainers wrote down, the first one first."""
    raised_events = [(line.event, line) for line in lines if isinstance(line.event, ExceptionEvent)]
    for place, (event, line) in enumerate(sorted(raised_events, key=lambda pair: pair[0].time)[:_MOST]):
        raised = exceptions.RaisedException(event.kind, event.message, event.place, 0, 0, 0)
        finding, _ = exceptions.explain_exception(raised, raised, event.who)
        entry = find_known(f"{event.kind}: {event.message}", installed)
        known = entry.finding if entry else finding
        finding = replace(known, cause=finding.cause, file=line.file, line=line.line)
        yield Match(
            finding, entry.rank if entry else "cause", f"{place:04}", -1, place, frozenset((place,)), doubt=0
        )


def _logs(run_dir: Path, ended: RunEnd | None) -> Iterator[Text]:
    """Read the logs of a run, up to a bound, and what interrupted it; what cannot be read is left out."""
    if ended and ended.reason == "interrupted":
        with suppress(OSError):
            yield _interrupted(texts.read_text(run_dir / folders.ENDED, folders.ENDED), ended.message or "")
    for path in islice(texts.find_logs(run_dir), MOST):
        with suppress(OSError):
            log = texts.read_text(path, path.relative_to(run_dir).as_posix())
            yield (
                texts.cut_before(log, ended.started)
                if ended and log.file.startswith("autopsy/kernel")
                else log
            )


def _interrupted(record: Text, message: str) -> Text:
    """Return what interrupted a run, in the line of its record that has it."""
    before = record.raw.count("\n", 0, max(0, record.raw.find('"message"')))
    return Text(record.file, "\n" * before + message)
