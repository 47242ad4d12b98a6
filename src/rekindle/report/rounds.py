# SPDX-License-Identifier: Apache-2.0
"""The rounds of a federation: what each site sent in each, and who was waited for."""

from typing import NamedTuple

from rekindle.records import JobRound, VerdictRecord

_MOST = 20
_MIB = 1 << 20


class Rounds(NamedTuple):
    """A table with a row for each site and a column for each of the last rounds."""

    numbers: list[int]
    """From 1."""
    sites: list[tuple[str, list[str]]]


def make_round_rows(verdict: VerdictRecord) -> Rounds:
    """Lay out the rounds of ``verdict``; ``–`` where a site sent nothing."""
    by_place = {(of.site, of.round): of for of in verdict.rounds}
    numbers = sorted({of.round for of in verdict.rounds})[-_MOST:]
    sites = dict.fromkeys(of.site for of in verdict.rounds)
    cells = [(site, [_cell(by_place.get((site, number))) for number in numbers]) for site in sites]
    return Rounds([number + 1 for number in numbers], cells)


def _cell(of: JobRound | None) -> str:
    if of is None:
        return "–"
    parts = [
        f"{of.bytes_out / _MIB:.1f} MiB" if of.bytes_out is not None else "",
        f"+{of.late_s:.1f} s" if of.late_s else "first" if of.late_s is not None else "",
    ]
    return ", ".join(filter(None, parts)) or "sent"
