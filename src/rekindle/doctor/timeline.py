# SPDX-License-Identifier: Apache-2.0
"""The first errors of each process, oldest first, and what came after each."""

from collections.abc import Iterable
from pathlib import Path

from rekindle.records import Moment

from .prefixes import TRAINER, find_producer
from .scan import Match, cut_line
from .texts import Text, count_seconds

_MOST, _SHOWN = 8, 200
_OPENS = ("=> {", "=>")
"""How the first line of an Ansible result ends that is shown in several lines, and says nothing."""


def make_timeline(logs: Iterable[tuple[Text, list[Match]]]) -> tuple[Moment, ...]:
    """Return at most eight errors: the first of each process, then its second, and so on."""
    by_process: dict[str, list[tuple[str, str, int, Text, str]]] = {}
    for log, found in logs:
        for at, cause in {one.at: one.finding.cause for one in found}.items():
            by = _process(log, at)
            by_process.setdefault(by, []).append((log.time(at), by, at, log, cause))
    ranked = sorted(
        ((place, one) for errors in by_process.values() for place, one in enumerate(errors)),
        key=lambda pair: (pair[0], pair[1][0]),
    )
    chosen = sorted((one for _, one in ranked[:_MOST]), key=lambda one: (one[0], one[3].file, one[2]))
    return tuple(_moment(*one) for one in chosen)


def _process(log: Text, at: int) -> str:
    """Return who printed a line: the server or a site, its trainer, a rank, or the file itself."""
    of = find_producer(log.raw_line(at))
    if of == TRAINER:
        return f"{log.member}'s trainer" if log.member else of
    return of or log.member or Path(log.file).name


def _moment(time: str, by: str, at: int, log: Text, cause: str) -> Moment:
    said = log.content(at).strip() or log.raw_line(at)
    said = cause if said.endswith(_OPENS) else said
    line, last = log.place(at), log.place(log.last)
    after = f"the log goes on for {last - line} lines" if last > line else "the log ends"
    if last > line and (elapsed := count_seconds(time, log.ends)):
        after = f"the log goes on for {elapsed:.0f} s"
    return Moment(
        time=time, process=by, message=cut_line(said, _SHOWN), after=after, file=log.file, line=line
    )
