# SPDX-License-Identifier: Apache-2.0
"""Orders findings: the root cause of a failure, and its echoes."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from rekindle.records import Finding
from rekindle.records.events import AnyEvent, ExceptionEvent
from rekindle.records.evidence import Line

from .across_texts import ended_scripts, overwritten
from .exceptions import layer
from .lines import by_rank
from .scan import Found, known, one_line, search
from .texts import Text
from .typed import standing, typed

_MOST = 1_000


def root_first(
    lines: Iterable[Line[AnyEvent]], logs: list[Text], installed: Mapping[str, str], failed: bool | None
) -> list[Finding]:
    """Return the root cause, then other findings, each name once.

    Args:
        lines: evidence; trainers' exceptions come before findings in logs, except another run in the same
            workspace.
        logs: of the same run.
        installed: versions by package.
        failed: whether the run is known to have failed, or (False) to have ended well.
    """
    logs = [part for log in logs for part in by_rank(log)]
    exceptions = sorted(_exceptions(lines, installed), key=lambda found: found.order[0])
    in_logs = sorted(
        (found for log in logs for found in _entries(log, installed, failed)), key=lambda found: found.order
    )
    in_logs[:0] = filter(None, [ended_scripts(logs)])
    exceptions[:0] = filter(None, [overwritten(logs)])
    if not exceptions and not any(found.rank == "cause" and not found.generic for found in in_logs):
        state = True if in_logs else failed
        unknown = [_placed(one, log) for log in logs for one in typed(log, state, _known(in_logs, log))]
        if any(found.finding.layer and found.rank in ("cause", "symptom") for found in (*unknown, *in_logs)):
            unknown = [found for found in unknown if found.finding.layer]
        if failed is not None and any(found.rank != "echo" for found in in_logs):
            unknown = [found for found in unknown if found.finding.name == "exception"]
        in_logs = sorted([*_adding(unknown, in_logs), *in_logs], key=lambda found: found.order)
    by_name: dict[tuple[str, int | None], Found] = {}
    for found in (*exceptions, *in_logs):
        finding = found.finding
        by_name.setdefault((finding.name, None if finding.layer else finding.line), found)
    kept = sorted(by_name.values(), key=lambda found: found.order[0])
    if kept and kept[0].rank in ("cause", "symptom"):
        kept = [found for found in kept if found.rank != "guess"]
    return [replace(found.finding, echo=found.rank == "echo" or found.rank != kept[0].rank) for found in kept]


def _entries(log: Text, installed: Mapping[str, str], failed: bool | None) -> list[Found]:
    """Return what the catalogue knows of a log; of one that may be of a good run, what was not overcome."""
    found = search(log, installed)
    return [_placed(one, log) for one in (standing(log, found) if failed is None else found)]


def _placed(found: Found, log: Text) -> Found:
    """Return what was found in a part of a file, with its lines in that file."""
    line = log.place(found.finding.line or 1)
    return found._replace(finding=replace(found.finding, line=line), through=log.place(found.through or 1))


def _adding(unknown: list[Found], in_logs: list[Found]) -> list[Found]:
    """Return what was read from lines, without the lines and layers that a generic entry covers."""
    covered = {(one.finding.file, one.finding.line, one.finding.layer) for one in in_logs if one.generic}
    return [one for one in unknown if (one.finding.file, one.finding.line, one.finding.layer) not in covered]


def _known(found: Iterable[Found], log: Text) -> frozenset[int]:
    """Return the lines of ``log`` that entries of the catalogue are about."""
    of_file = [
        one for one in found if one.finding.file == log.file and not one.generic and one.rank != "echo"
    ]
    known = {line for one in of_file for line in range(one.finding.line or 0, one.through + 1)}
    return (
        frozenset(here for here, row in enumerate(log.rows, 1) if row + 1 in known)
        if log.rows
        else frozenset(known)
    )


def _exceptions(lines: Iterable[Line[AnyEvent]], installed: Mapping[str, str]) -> Iterator[Found]:
    raised_events = [(line.event, line) for line in lines if isinstance(line.event, ExceptionEvent)]
    for event, line in sorted(raised_events, key=lambda pair: pair[0].time)[:_MOST]:
        exception = one_line(f"{event.kind}: {event.message}")
        entry = known(f"{event.kind}: {event.message}", installed)
        cause = f"{event.who} raised {exception} at {event.place}."
        remedy = f"Correct what raises at {event.place}."
        of = layer(event.kind, event.message)
        unknown = Finding(name="exception", cause=cause, layer=of, remedy=remedy, confidence="certain")
        finding = entry.finding if entry else unknown
        finding = replace(finding, cause=cause, file=line.file, line=line.line)
        yield Found(finding, entry.rank if entry else "cause", "", 0)
