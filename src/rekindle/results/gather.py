"""Reads a results folder into rows, one a host and job; whatever is missing or broken becomes a row too."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from rekindle.records import (
    EnvRecord,
    HostRecord,
    Outcome,
    PlanRecord,
    Record,
    RecordError,
    RetiredRecord,
    RunRecord,
    VerdictKind,
    VerdictRecord,
    read,
)

RecordT = TypeVar("RecordT", bound=Record)
RowKind = Literal[VerdictKind, "LOST", "RETIRED"]
"""A verdict; or LOST, as the host vanished after it had been reached; or RETIRED, as it was given back."""

_NOTHING_HOME = "No verdict came home. Fix: run site.yml again with the same rekindle_results."
_NO_PLAN = "No plan came home to say which jobs have to pass. Fix: run playbooks/plan.yml again."
_NO_JOBS = "The plan asks for no job, so nothing is proven. Fix: name one in rekindle_jobs."


@dataclass(frozen=True)
class Row:
    """One job on one host, or what is true of the host as a whole (``job`` is None)."""

    host: str
    job: str | None
    kind: RowKind
    cause: str | None
    verdict: VerdictRecord | None = None

    @property
    def required(self) -> bool:
        """Whether the run has not passed without this; false where a verdict says so, and of RETIRED."""
        return self.kind != "RETIRED" and (self.verdict is None or self.verdict.required)

    @property
    def notice(self) -> str | None:
        """What has to be done about a job that passed in spite of a known issue, or of its host's word."""
        if self.kind != "PASS" or self.verdict is None:
            return None
        if self.verdict.contradiction:
            return f"{self.verdict.contradiction} Fix: look at verdict-of-host.json."
        if self.verdict.known_issue is None:
            return None
        name = self.verdict.known_issue
        return f"KNOWN ISSUE GONE: {name} no longer shows. Fix: remove it from doctor/known_issues.json."

    @property
    def duration_s(self) -> float | None:
        """How long the job ran."""
        return self.verdict.duration_s if self.verdict else None

    @property
    def gpus(self) -> str:
        """What the job ran on: ``4 × NVIDIA H200``, ``CPU``, or ``–`` where nobody told."""
        if self.verdict is None or not self.verdict.devices:
            return "–"
        models = {
            one.uuid or (one.site, one.rank): one.name or "GPU"
            for one in self.verdict.devices
            if one.uuid or "cpu" not in one.device.lower()
        }
        found = Counter(models.values())
        return ", ".join(f"{found[model]} × {model}" for model in sorted(found)) or "CPU"


@dataclass(frozen=True)
class HostResults:
    """What came home from one host; None for a record that it never wrote or that cannot be read."""

    name: str
    host: HostRecord | None
    plan: PlanRecord | None
    env: EnvRecord | None
    outcome: Outcome | None
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
        """Whether there is a required row and every such row is PASS."""
        required = [row for row in self.rows if row.required]
        return bool(required) and all(row.kind == "PASS" for row in required)


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


def _read(path: Path, kind: type[RecordT]) -> tuple[RecordT | None, str | None]:
    """Return the record, and one sentence if it is there and cannot be read."""
    if not _exists(path):
        return None, None
    try:
        return read(path, kind), None
    except RecordError as error:
        return None, str(error)


def _host(folder: Path, name: str) -> HostResults:
    host, host_flaw = _read(folder / "host.json", HostRecord)
    plan, plan_flaw = _read(folder / "plan.json", PlanRecord)
    env, env_flaw = _read(folder / "env.json", EnvRecord)
    outcome, outcome_flaw = _read(folder / "outcome.json", Outcome)
    retired, retired_flaw = _read(folder / "retired.json", RetiredRecord)
    flaws = (host_flaw, plan_flaw, env_flaw, outcome_flaw, retired_flaw)
    rows = [Row(name, None, "UNPROVEN", flaw) for flaw in flaws if flaw]
    jobs = plan.jobs if plan else sorted(path.parent.name for path in folder.glob("*/verdict.json"))
    rows += [_row(folder, name, job, outcome) for job in jobs]
    if outcome and outcome.state == "unreachable" and host:
        rows = _lost(rows, outcome)
    elif all(row.kind == "PASS" for row in rows):
        # What an earlier run of the folder proved does not count for a host that left this one.
        lacks = outcome.says if outcome else None
        if not plan and not retired:
            lacks = lacks or (_NO_PLAN if rows else _NOTHING_HOME)
        elif plan and not rows:
            lacks = lacks or _NO_JOBS
        if lacks:
            rows.append(Row(name, None, "SKIPPED", lacks))
    if retired and retired.retired:
        rows.append(Row(name, None, "RETIRED", _kept(retired)))
    return HostResults(name, host, plan, env, outcome, tuple(rows))


def _row(folder: Path, host: str, job: str, outcome: Outcome | None) -> Row:
    """Return the row of a job that has to pass, of which there may be no verdict."""
    verdict, unread = _read(folder / job / "verdict.json", VerdictRecord)
    if unread:
        return Row(host, job, "UNPROVEN", unread)
    if verdict is None:
        return Row(host, job, "SKIPPED", outcome.says if outcome else _NOTHING_HOME)
    if flaw := verdict.flaw(host, job):
        says = f"{folder / job / 'verdict.json'} is no verdict. {flaw} Fix: have the job run again."
        return Row(host, job, "UNPROVEN", says)
    contradiction = None if verdict.verdict == "PASS" else verdict.contradiction
    cause = " ".join(filter(None, (contradiction, verdict.cause))) or None
    return Row(host, job, verdict.verdict, cause, verdict)


def _lost(rows: list[Row], outcome: Outcome) -> list[Row]:
    """Return the rows of a host that was reached and then vanished: LOST where no verdict came home.

    If every verdict did, the host itself is LOST, as it left before its end.
    """
    proven = ", ".join(row.job for row in rows if row.job and row.kind == "PASS")
    unproven = ", ".join(row.job for row in rows if row.job and row.kind != "PASS")
    proof = f"proven, with its files at home: {proven or 'nothing'}; not proven: {unproven or 'no job'}"
    says = f"The host was lost during {outcome.stage} ({proof}). {outcome.says}"
    marked = [
        replace(row, kind="LOST", cause=says) if row.kind == "SKIPPED" and not row.verdict else row
        for row in rows
    ]
    if all(row.kind != "LOST" for row in marked):
        marked.append(Row(outcome.host, None, "LOST", says))
    return marked


def _kept(retired: RetiredRecord) -> str:
    """Say in one sentence what is kept of a host from which Rekindle was removed, and what is not."""
    gone = f"Nothing of Rekindle is on the host since {retired.retired}"
    if not retired.files and not retired.environments:
        return f"{gone}, and nothing of it was there to keep."
    runs = ", ".join(f"{run} {verdict or 'without a verdict'}" for run, verdict in retired.runs.items())
    kept = f"{retired.files} files of logs and of {runs or 'no run'}"
    capsule = f"the capsule of {', '.join(retired.environments) or 'no environment'}"
    lost = f"; not kept, with {sum(retired.left.values()) / 1e6:.0f} MB: {', '.join(retired.left)}"
    return f"{gone}. Kept in {retired.host}/retired: {kept}; {capsule}{lost if retired.left else ''}."


def _exists(path: Path) -> bool:
    """Whether there is something at ``path``, be it readable or not."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
