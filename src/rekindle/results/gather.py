"""Reads a results folder into rows, one a host and job; whatever is missing or broken becomes a row too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from rekindle.acceptance.strips import Strip
from rekindle.host import folders
from rekindle.records import (
    AcceptanceRecord,
    Complaint,
    HostRecord,
    Outcome,
    PlanRecord,
    PlaybookRecord,
    RecordError,
    RetiredRecord,
    VerdictKind,
    VerdictRecord,
    VersionError,
)
from rekindle.records.acceptance import JOBS as ACCEPTANCE
from rekindle.records.base import RecordT
from rekindle.records.complaint import MissingError
from rekindle.records.folders import (
    acceptance_in,
    env_in,
    host_in,
    outcome_in,
    plan_in,
    play_in,
    retired_in,
    verdict_in,
)

from .accepted import Accepted, accepted

RowKind = Literal[VerdictKind, "LOST", "READY", "RETIRED"]
"""A verdict; or LOST, as the host vanished after it had been reached; or READY, as no job was asked for yet;
or RETIRED, as it was given back.
"""
State = Literal["proven", "ready", "retired", "not proven"]

NO_HOSTS = "The run had no hosts. Fix: put hosts in the inventory."
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
    other_version: bool = False
    """Whether nothing can be told, as a record was written by another version of Rekindle."""

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
            device.uuid or (device.site, device.rank): device.name or "GPU"
            for device in self.verdict.devices
            if device.uuid or "cpu" not in device.device.lower()
        }
        counts = Counter(models.values())
        return ", ".join(f"{counts[model]} × {model}" for model in sorted(counts)) or "CPU"


@dataclass(frozen=True)
class HostResults:
    """What came home from one host; None for a record that it never wrote or that cannot be read."""

    name: str
    host: HostRecord | None
    plan: PlanRecord | None
    outcome: Outcome | None
    rows: tuple[Row, ...]
    acceptance: AcceptanceRecord | None = None


@dataclass(frozen=True)
class Results:
    """Everything in a results folder."""

    playbook: PlaybookRecord
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

    @cached_property
    def accepted(self) -> tuple[Accepted, list[Strip]]:
        """What acceptance says of these hosts alone, and their figures as they are shown."""
        return accepted([self], [])

    @property
    def state(self) -> State:
        """What is true of all hosts together."""
        if self.passed:
            return "proven"
        kinds = {row.kind for row in self.rows}
        return "ready" if kinds == {"READY"} else "retired" if kinds == {"RETIRED"} else "not proven"


def gather(folder: Path) -> Results:
    """Read the results in ``folder``.

    Raises:
        RecordError: ``folder`` is not a results folder.
    """
    if not (folder / folders.PLAY_RECORD).is_file():
        raise RecordError(
            f"{folder} is not a results folder: it has no run.json.", "name a folder under results/."
        )
    playbook = play_in(folder)
    return Results(
        playbook, tuple(gather_host(folder / name, name, playbook.asked.get(name)) for name in playbook.hosts)
    )


def _read(reader: Callable[[Path], RecordT], folder: Path, flaws: list[RecordError]) -> RecordT | None:
    """Return the record; one that is there and cannot be read adds to ``flaws``."""
    try:
        return reader(folder)
    except MissingError:
        return None
    except RecordError as error:
        flaws.append(error)
        return None


def gather_host(folder: Path, name: str, asked: str | None = None) -> HostResults:
    """Read what came home from one host, whose latest playbook was to reach the stage ``asked``."""
    flaws: list[RecordError] = []
    host = _read(host_in, folder, flaws)
    plan = _read(plan_in, folder, flaws)
    env = _read(env_in, folder, flaws)
    outcome = _read(outcome_in, folder, flaws)
    acceptance = _read(acceptance_in, folder, flaws)
    retired = _read(retired_in, folder, flaws)
    rows = [_unread(name, None, flaw) for flaw in flaws]
    jobs = plan.jobs if plan else sorted(path.parent.name for path in folder.glob(f"*/{folders.VERDICT}"))
    if asked == "accept":
        jobs = [job for job in jobs if job in ACCEPTANCE.values()]
    rows += [_row(folder, name, job, outcome) for job in jobs]
    done = {"preflight": host, "plan": plan, "environments": env, "containers": plan}.get(asked or "")
    if done and not (outcome or flaws or retired) and not any(folder.glob(f"*/{folders.VERDICT}")):
        rows = [Row(name, None, "READY", f"{asked} is done, and nothing more was asked for.")]
    elif outcome and outcome.state == "unreachable" and host:
        rows = _lost(rows, outcome)
    elif all(row.kind == "PASS" for row in rows) and (missing := _missing(rows, plan, outcome, retired)):
        rows.append(Row(name, None, "SKIPPED", missing))
    if retired and retired.retired:
        rows.append(Row(name, None, "RETIRED", _kept(retired)))
    return HostResults(name, host, plan, outcome, tuple(rows), acceptance)


def _missing(
    rows: list[Row], plan: PlanRecord | None, outcome: Outcome | None, retired: RetiredRecord | None
) -> str | None:
    """Say what a host lacks although each of its rows is PASS, if there is any; None if nothing.

    What an earlier playbook proved does not count for a host that left the latest one.
    """
    if outcome:
        return outcome.says
    if plan:
        return None if rows else _NO_JOBS
    if retired:
        return None
    return _NO_PLAN if rows else _NOTHING_HOME


def _unread(host: str, job: str | None, flaw: RecordError) -> Row:
    return Row(host, job, "UNPROVEN", str(flaw), other_version=isinstance(flaw, VersionError))


def _row(folder: Path, host: str, job: str, outcome: Outcome | None) -> Row:
    """Return the row of a job that has to pass, of which there may be no verdict."""
    flaws: list[RecordError] = []
    verdict = _read(verdict_in, folder / job, flaws)
    if flaws:
        return _unread(host, job, flaws[0])
    if verdict is None:
        return Row(host, job, "SKIPPED", outcome.says if outcome else _NOTHING_HOME)
    if flaw := verdict.flaw(host, job):
        says = f"{folder / job / folders.VERDICT} is not a verdict. {flaw}"
        return Row(host, job, "UNPROVEN", str(Complaint(says, "have the job run again.")))
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
