"""Reads a results folder into rows, one a host and job; whatever is missing or broken becomes a row too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rekindle.records import (
    EnvRecord,
    HostRecord,
    Outcome,
    PlanRecord,
    Record,
    RecordError,
    RunRecord,
    VerdictKind,
    VerdictRecord,
    read,
)

RecordT = TypeVar("RecordT", bound=Record)


@dataclass(frozen=True)
class Row:
    """One job on one host, or a host that never got as far as a job (``job`` is None)."""

    host: str
    job: str | None
    kind: VerdictKind
    cause: str | None
    verdict: VerdictRecord | None


@dataclass(frozen=True)
class HostResults:
    """What came home from one host; None for a record that it never wrote."""

    name: str
    host: HostRecord | None
    plan: PlanRecord | None
    env: EnvRecord | None
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Results:
    """Everything in a results folder."""

    run: RunRecord
    hosts: tuple[HostResults, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, host by host."""
        return tuple(row for host in self.hosts for row in host.rows)

    @property
    def passed(self) -> bool:
        """Whether there is a row and every row is PASS."""
        return bool(self.rows) and all(row.kind == "PASS" for row in self.rows)


def gather(folder: Path) -> Results:
    """Read the results in ``folder``.

    Raises:
        RecordError: ``folder`` is no results folder.
    """
    if not (folder / "run.json").is_file():
        raise RecordError(
            f"{folder} is no results folder: it has no run.json. Fix: name a folder under results/."
        )
    run = read(folder / "run.json", RunRecord)
    return Results(run, tuple(_host(folder / name, name) for name in run.hosts))


def _host(folder: Path, name: str) -> HostResults:
    broken: list[str] = []

    def record(file: str, kind: type[RecordT]) -> RecordT | None:
        path = folder / file
        if not path.exists():
            return None
        try:
            return read(path, kind)
        except RecordError as error:
            broken.append(str(error))
            return None

    host, plan = record("host.json", HostRecord), record("plan.json", PlanRecord)
    env, outcome = record("env.json", EnvRecord), record("outcome.json", Outcome)
    left = outcome.says if outcome else "No verdict came home. Fix: run site.yml again."
    jobs = plan.jobs if plan else ()
    rows = []
    for job in jobs:
        verdict = record(f"{job}/verdict.json", VerdictRecord)
        if verdict is not None:
            rows.append(Row(name, job, verdict.verdict, verdict.cause, verdict))
        elif (folder / job / "verdict.json").exists():
            rows.append(Row(name, job, "UNPROVEN", broken.pop(), None))
        else:
            rows.append(Row(name, job, "SKIPPED", left, None))
    rows += [Row(name, None, "UNPROVEN", text, None) for text in broken]
    if not rows:
        rows.append(Row(name, None, "SKIPPED", left, None))
    return HostResults(name, host, plan, env, tuple(rows))
