# SPDX-License-Identifier: Apache-2.0
"""The board as a page: its answer, and how jobs and GPUs did over the last runs."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from rekindle.results.board import Board, Past
from rekindle.results.digest import make_digest
from rekindle.results.gpu_trends import GpuTrend

from . import spark
from .digest import describe_slower, summarise_digest
from .html import render_template


class JobTrend(NamedTuple):
    """A job, run by run, the newest last."""

    job: str
    passed: list[int]
    hosts: list[int]
    medians: list[float]
    """Of runs in which one passed."""

    @property
    def shares(self) -> list[float]:
        """How many of the hosts passed, from 0 to 1."""
        return [passed / hosts for passed, hosts in zip(self.passed, self.hosts, strict=True)]


def render_board_page(board: Board, gpus: Sequence[GpuTrend], links: dict[str, str]) -> str:
    """Return the page.

    Args:
        board: as it is.
        gpus: the figures to show.
        links: the folder of each run by its name, relative to the page; without those that lie elsewhere.
    """
    found = make_digest(board)
    runs = {past.run for line in board.lines for past in line.past}
    return render_template(
        "board.html.j2",
        board=board,
        answer=summarise_digest(found),
        found=found,
        describe_slower=describe_slower,
        trends=list(_trends(board)),
        gpus=gpus,
        links=links,
        runs=len(runs),
        newest=max((line.began for line in board.lines), default="–"),
        sparks=spark,
        make_spark=spark.make_spark,
    )


def _trends(board: Board) -> list[JobTrend]:
    jobs: dict[str, dict[tuple[str, str], dict[str, Past]]] = {}
    starts: dict[str, str] = {}
    for line in board.lines:
        for past in line.past if line.job else ():
            starts[past.run] = min(past.began, starts.get(past.run, past.began))
    for line in board.lines:
        for past in line.past if line.job else ():
            by_run = jobs.setdefault(line.job or "", {})
            by_run.setdefault((starts[past.run], past.run), {})[line.host] = past
    found = []
    for job, by_run in jobs.items():
        trend = JobTrend(job, [], [], [])
        for _, hosts in sorted(by_run.items()):
            good = [past for past in hosts.values() if past.verdict == "PASS"]
            trend.passed.append(len(good))
            trend.hosts.append(len(hosts))
            if times := [past.duration_s for past in good if past.duration_s is not None]:
                trend.medians.append(median(times))
        found.append(trend)
    return found
