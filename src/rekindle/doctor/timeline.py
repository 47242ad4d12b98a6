# SPDX-License-Identifier: Apache-2.0
"""The first errors of each process, oldest first, and what came after each."""

from collections.abc import Iterable

from rekindle.records import Moment

from .scan import Found, one_line
from .streams import process
from .texts import Text, seconds

_MOST, _SHOWN = 8, 200


def timeline(logs: Iterable[tuple[Text, list[Found]]]) -> tuple[Moment, ...]:
    """Return at most eight errors: the first of each process, then its second, and so on."""
    by_process: dict[str, list[tuple[str, str, int, Text]]] = {}
    for log, found in logs:
        for number in dict.fromkeys(one.finding.line or 1 for one in found):
            here = log.rows.index(number - 1) + 1 if log.rows else number
            by = process(log.file, log.raw_line(here))
            by_process.setdefault(by, []).append((log.time(here), by, here, log))
    ranked = sorted(
        ((place, one) for errors in by_process.values() for place, one in enumerate(errors)),
        key=lambda pair: (pair[0], pair[1][0]),
    )
    chosen = sorted((one for _, one in ranked[:_MOST]), key=lambda one: (one[0], one[3].file, one[2]))
    return tuple(_moment(*one) for one in chosen)


def _moment(time: str, by: str, here: int, log: Text) -> Moment:
    said = log.content(here).strip() or log.raw_line(here)
    lines = log.raw.rstrip().count("\n") + 1 - here
    after = f"the log goes on for {lines} lines" if lines else "the log ends"
    if lines and (elapsed := seconds(time, log.ends)):
        after = f"the log goes on for {elapsed:.0f} s"
    return Moment(
        time=time,
        process=by,
        message=one_line(said, _SHOWN),
        after=after,
        file=log.file,
        line=log.place(here),
    )
