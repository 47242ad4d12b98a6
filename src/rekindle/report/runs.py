# SPDX-License-Identifier: Apache-2.0
"""Many runs, one entry each: when, on what, how it ended, how long it took."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec

from rekindle.records import parse_time
from rekindle.records.text import fold_line, format_duration, list_few
from rekindle.results.contents import Results, RunState
from rekindle.results.row import format_clock

from .answer import summarise_answer
from .table import format_grid

_SHARES = {"run": 0.2, "began": 1.0, "hosts": 0.2, "duration": 1.0}


class RunData(msgspec.Struct):
    """A results folder."""

    run: str
    began: str
    """Start of its latest playbook."""
    hosts: list[str]
    jobs: list[str]
    state: RunState
    answer: str
    took_s: float | None
    """From then to the end of its last job; None if none ran."""


class RunsData(msgspec.Struct):
    """Every run that was read, the newest first."""

    schema: Literal["rekindle/runs/1"]
    runs: list[RunData]
    unread: list[str]
    """A sentence for each run that was not read."""


def make_runs_data(found: Mapping[Path, Results], unread: list[str]) -> RunsData:
    """Return the entries, schema ``rekindle/runs/1``, each with its folder's name."""
    named = (_run(folder.name, results) for folder, results in found.items())
    runs = sorted(named, key=lambda run: (run.began, run.run), reverse=True)
    return RunsData("rekindle/runs/1", runs, unread)


def format_runs(data: RunsData, width: int, colour: bool) -> str:
    """Return them for a terminal, at most ``width`` columns wide."""
    rows = [
        {
            "run": run.run,
            "began": format_clock(run.began, ""),
            "hosts": list_few(run.hosts, 1),
            "duration": format_duration(run.took_s),
            "how it ended": run.answer,
        }
        for run in data.runs
    ]
    return "\n".join([format_grid(rows, _SHARES, width, colour), *map(fold_line, data.unread)])


def _run(name: str, results: Results) -> RunData:
    began = results.playbook.newest
    return RunData(
        run=name,
        began=began,
        hosts=[host.name for host in results.hosts],
        jobs=list(dict.fromkeys(row.job for row in results.rows if row.job)),
        state=results.state,
        answer=summarise_answer(results),
        took_s=_took_s(results, began),
    )


def _took_s(results: Results, began: str) -> float | None:
    """Return the seconds from ``began`` to the end of the last job that ran since."""
    ends = [
        parse_time(verdict.started) + timedelta(seconds=verdict.duration_s)
        for verdict in (row.verdict for row in results.rows)
        if verdict and verdict.started and verdict.duration_s is not None and verdict.started >= began
    ]
    return (max(ends) - parse_time(began)).total_seconds() if ends else None
