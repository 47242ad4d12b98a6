# SPDX-License-Identifier: Apache-2.0
"""What did not fail, folded to one entry a job: how many, how fast, and which runs were kept."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from rekindle.records.text import format_duration

from .causes import NO_FAILURE
from .row import Row, RowKind, format_clock


def describe_times(times: Iterable[tuple[float | None, str]]) -> tuple[str, str, str]:
    """Return the shortest, the median and the longest of times, and whose that is."""
    timed = [(seconds, host) for seconds, host in times if seconds is not None]
    if not timed:
        return "–", "–", "–"
    seconds, host = max(timed)
    middle = median(seconds for seconds, _ in timed)
    return format_duration(min(timed)[0]), format_duration(middle), f"{format_duration(seconds)} ({host})"


@dataclass(frozen=True)
class Fold:
    """Rows of one job (None: hosts themselves) and one kind."""

    job: str | None
    kind: RowKind
    rows: tuple[Row, ...]

    @property
    def times(self) -> tuple[str, str, str]:
        """The fastest, the median and the slowest run, with its host."""
        return describe_times((row.duration_s, row.host) for row in self.rows)

    @property
    def note(self) -> str:
        """How many were kept and from when, or how far the only one is."""
        kept = sorted(row.kept for row in self.rows if row.kept)
        if len(self.rows) == 1:
            return self.rows[0].remark or ""
        if not kept:
            return ""
        times = dict.fromkeys(format_clock(stamp, self.rows[0].began) for stamp in (kept[0], kept[-1]))
        return f"{len(kept)} kept, of {' to '.join(times)}; -e rerun=true runs them again"


def fold_rows(rows: Iterable[Row]) -> list[Fold]:
    """Fold what did not fail, in the order of the jobs."""
    of: dict[str | None, dict[RowKind, list[Row]]] = {}
    for row in rows:
        kinds = of.setdefault(row.job, {})
        if row.kind in NO_FAILURE:
            kinds.setdefault(row.kind, []).append(row)
    return [Fold(job, kind, tuple(group)) for job, kinds in of.items() for kind, group in kinds.items()]
