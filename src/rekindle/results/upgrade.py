# SPDX-License-Identifier: Apache-2.0
"""Two runs of the same jobs under two releases of NVFlare: what breaks, what is worse, what differs."""

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from rekindle.records import Complaint, VerdictRecord
from rekindle.records.acceptance import JOBS as ACCEPTANCE

from .gather import Results
from .row import Row, RowKind, State

Worse = Literal["slower", "heavier"]

_WORSE = 1.25
"""More than so many times as much is worse."""
_MEASURED: tuple[tuple[str, str, Worse | None, Callable[[VerdictRecord], float | None]], ...] = (
    ("duration", "s", "slower", lambda run: run.duration_s),
    ("round", "s", "slower", lambda run: max((one.seconds for one in run.rounds), default=None)),
    ("NVFlare's memory", "MiB", "heavier", lambda run: sum(run.host_memory_mib.values())),
    ("GPU memory", "MiB", "heavier", lambda run: sum(of.peak_memory_mib or 0 for of in run.devices)),
    ("rounds", "", None, lambda run: len({one.round for one in run.rounds})),
)
"""Name, unit, what more of it is, and how it is read; 0 and None where it was not measured."""


class Figure(msgspec.Struct):
    """One figure of a job, before and after."""

    name: str
    unit: str
    before: float
    after: float
    worse: Worse | None = None


class UpgradedJob(msgspec.Struct):
    """One job on one host; without a job, the host itself."""

    host: str
    job: str | None
    before: RowKind
    after: RowKind
    cause: str | None
    figures: list[Figure]

    @property
    def breaks(self) -> bool:
        """Whether it passed, and does not any more."""
        return self.before == "PASS" != self.after


class Upgrade(msgspec.Struct):
    """What an upgrade changes."""

    schema: Literal["rekindle/upgrade/1"]
    state: State
    """failed: something would break; unknown: nothing passed before."""
    before: str
    """Release of NVFlare; of several hosts, joined by ``, ``."""
    after: str
    jobs: list[UpgradedJob]
    results: list[str]
    """The results folder of each run."""


def upgrade(before: Results, after: Results, release: str, folders: list[str]) -> Upgrade:
    """Return what differs between two runs of the same hosts and jobs, the later with ``release``."""
    later = {(row.host, row.job): row for row in after.rows}
    jobs = []
    for was in (row for row in before.rows if row.job not in ACCEPTANCE.values()):
        missing = Row(was.host, was.job, "SKIPPED", Complaint("It has no verdict."))
        now = later.get((was.host, was.job)) or later.get((was.host, None)) or missing
        figures = [*_figures(was.verdict, now.verdict)] if was.verdict and now.verdict else []
        jobs.append(UpgradedJob(was.host, was.job, was.kind, now.kind, now.cause, figures))
    state: State = "unknown"
    if any(job.before == "PASS" for job in jobs):
        state = "failed" if any(job.breaks for job in jobs) else "ok"
    return Upgrade("rekindle/upgrade/1", state, ", ".join(releases(before)), release, jobs, folders)


def releases(results: Results) -> list[str]:
    """Return the releases of NVFlare that the hosts of a run had."""
    plans = (host.plan for host in results.hosts if host.plan)
    return sorted({plan.nvflare for plan in plans})


def _figures(was: VerdictRecord, now: VerdictRecord) -> Iterator[Figure]:
    for name, unit, worse, measured in _MEASURED:
        if (before := measured(was)) and (after := measured(now)):
            yield Figure(name, unit, before, after, worse if after > before * _WORSE else None)
    for metric in sorted(was.final_metrics.keys() & now.final_metrics.keys()):
        yield Figure(metric, "", was.final_metrics[metric], now.final_metrics[metric])
