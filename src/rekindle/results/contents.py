# SPDX-License-Identifier: Apache-2.0
"""Reads a results folder into rows, one a host and job; missing and broken records become rows too."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from rekindle.acceptance.strips import Strip
from rekindle.host import files, folders
from rekindle.records import (
    AcceptanceRecord,
    Complaint,
    EnvRecord,
    FabricRecord,
    HostRecord,
    LastProgress,
    LeaseRecord,
    Outcome,
    PlacedRecord,
    PlanRecord,
    PlaybookRecord,
    RecordError,
    RetiredRecord,
    RunSpec,
    Timestamp,
    VerdictRecord,
    VersionError,
    read_record,
)
from rekindle.records import layout as within
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.records.base import RecordT, read_valid, require_folder
from rekindle.records.complaint import MissingError
from rekindle.records.fabric import FABRIC

from .acceptance import FleetAcceptance, compare_accepted
from .joints import is_joint_stage
from .journal import is_playing
from .row import Row, format_clock

RunState = Literal["proven", "ready", "retired", "running", "not proven"]

NO_HOSTS = str(Complaint("The run had no hosts.", "put hosts in the inventory."))
_NOTHING_COLLECTED = Complaint(
    "No verdict was collected.", "run site.yml again with the same rekindle_results."
)
_NO_PLAN = Complaint(
    "No plan was collected, so the required jobs are unknown.", "run playbooks/plan.yml again."
)
_SENT = Complaint(
    "It was sent to its host, where it may still run, and no verdict has been collected.",
    "run the same command again, which follows it.",
)
_WAITS = "It has not started yet."
_NO_JOBS = Complaint("The plan asks for no job, so nothing is proven.", "name one in rekindle_jobs.")


@dataclass(frozen=True)
class HostResults:
    """What was collected from one host; None for a record that is missing or cannot be read."""

    name: str
    host: HostRecord | None
    plan: PlanRecord | None
    outcome: Outcome | None
    rows: tuple[Row, ...]
    acceptance: AcceptanceRecord | None = None
    earlier: tuple[Row, ...] = ()
    """Rows of jobs that the latest playbook did not ask for."""
    lease_ends: Timestamp | None = None


@dataclass(frozen=True)
class Results:
    """Everything in a results folder."""

    playbook: PlaybookRecord
    hosts: tuple[HostResults, ...]
    fabrics: tuple[FabricRecord, ...] = ()
    """What was measured between the hosts, and between the nodes of each allocation."""

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All rows, host by host."""
        return tuple(row for host in self.hosts for row in host.rows)

    @cached_property
    def passed(self) -> bool:
        """Whether there is a required row and every such row is PASS."""
        required = [row for row in self.rows if row.required]
        return bool(required) and all(row.kind == "PASS" for row in required)

    @cached_property
    def accepted(self) -> tuple[FleetAcceptance, list[Strip]]:
        """The acceptance of these hosts alone, and their figures as they are shown."""
        return compare_accepted([self], [])

    @cached_property
    def state(self) -> RunState:
        """The state of all hosts together."""
        if self.passed:
            return "proven"
        kinds = {row.kind for row in self.rows}
        if "RUNNING" in kinds:
            return "running"
        return "ready" if kinds == {"READY"} else "retired" if kinds == {"RETIRED"} else "not proven"


def gather_results(folder: Path) -> Results:
    """Read the results in ``folder``.

    Raises:
        RecordError: ``folder`` is not a results folder.
    """
    require_folder(folder)
    if not (folder / folders.PLAY_RECORD).is_file():
        message = f"{folder} is not a results folder: it has no run.json."
        raise RecordError(message, "name a folder under results/.")
    playbook, plays = within.play_in(folder), is_playing(folder)
    fabrics = within.list_fabrics(folder, playbook.hosts)
    latest = max(playbook.began.values(), default=None) if plays else None
    return Results(
        playbook,
        tuple(
            gather_host(folder / name, name, playbook, plays=plays and playbook.began.get(name) == latest)
            for name in playbook.hosts
        ),
        tuple(filter(None, (read_valid(path, FabricRecord) for path in fabrics))),
    )


def locate_placed(host_folder: Path, job: str) -> Path:
    """Return the path of the record of a job that was placed on a host."""
    return host_folder / f"{job}{folders.PLACED}"


def _read(reader: Callable[[Path], RecordT], folder: Path, flaws: list[RecordError]) -> RecordT | None:
    """Return the record, or None; one that cannot be read adds to ``flaws``."""
    try:
        return reader(folder)
    except MissingError:
        return None
    except RecordError as error:
        flaws.append(error)
        return None


class _Records(NamedTuple):
    """What was collected from a host; None is what is not there, or cannot be read."""

    host: HostRecord | None
    plan: PlanRecord | None
    env: EnvRecord | None
    outcome: Outcome | None
    refusal: Outcome | None
    acceptance: AcceptanceRecord | None
    retired: RetiredRecord | None
    flaws: list[RecordError]

    def find_after(self, stage: str, jobs: list[str]) -> object:
        """Return what shows that a playbook of one stage did its work; None if nothing does."""
        if stage == "accept":
            return None if jobs else self.plan
        of = {"preflight": self.host, "plan": self.plan, "environments": self.env, "containers": self.plan}
        return of.get(stage)


class _Asked(NamedTuple):
    """What the latest playbooks asked of a host; empty is nothing."""

    began: str
    checked: str
    stage: str

    @property
    def only_checked(self) -> bool:
        """Whether nothing but ``--check`` was asked."""
        return bool(self.checked and not self.began and self.stage != "accept")


def gather_host(
    folder: Path, name: str, playbook: PlaybookRecord | None = None, *, plays: bool = False
) -> HostResults:
    """Read what was collected from one host.

    Args:
        folder: of the host's records.
        name: of the host.
        playbook: what was asked of it; None if unknown.
        plays: whether a playbook goes on there.
    """
    asked = _Asked(*(getattr(playbook, of, {}).get(name) or "" for of in ("began", "checked", "asked")))
    found = _collected(folder, checked=bool(asked.checked))
    outcome = found.refusal if asked.only_checked else found.outcome
    judged = [path.parent.name for path in files.find_files(folder, f"*/{folders.VERDICT}")]
    jobs = _jobs(found, asked, judged)
    if FABRIC in judged and not asked.only_checked and _is_new(folder / FABRIC, asked.began):
        jobs.append(FABRIC)  # which no plan has, as it is of several hosts
    rows = [_unread(name, None, flaw) for flaw in found.flaws]
    rows += [_row(folder, name, job, outcome, asked.began) for job in jobs]
    earlier = [_row(folder, name, job, None, asked.began) for job in judged if job not in jobs]
    idle = not (outcome or found.flaws or found.retired or judged)
    if idle and found.find_after(asked.stage, jobs):
        done = Complaint(f"{asked.stage} is done, and nothing more was requested.")
        rows = [Row(name, None, "READY", done)]
    elif plays and not outcome and asked.stage != "retire":
        rows = _running(rows or [Row(name, None, "SKIPPED", None)], folder, asked.began)
    else:
        rows = _ended(rows, name, found, outcome, asked.stage)
    if found.retired and found.retired.retired:
        rows.append(Row(name, None, "RETIRED", Complaint(_kept(found.retired))))
    lease = read_valid(folder / folders.LEASE_RECORD, LeaseRecord)
    return HostResults(
        name,
        found.host,
        found.plan,
        found.refusal if asked.checked else outcome,
        tuple(rows),
        found.acceptance,
        tuple(earlier),
        lease.ends if lease else None,
    )


def _collected(folder: Path, *, checked: bool) -> _Records:
    flaws: list[RecordError] = []
    return _Records(
        _read(within.host_in, folder, flaws),
        _read(within.plan_in, folder, flaws),
        _read(within.env_in, folder, flaws),
        _read(within.outcome_in, folder, flaws),
        _read(within.refusal_in, folder, flaws) if checked else None,
        _read(within.acceptance_in, folder, flaws),
        _read(within.retired_in, folder, flaws),
        flaws,
    )


def _jobs(found: _Records, asked: _Asked, judged: list[str]) -> list[str]:
    """Return the jobs that were asked of a host, of which each has a row."""
    jobs = list(found.plan.jobs) if found.plan else judged
    if asked.stage == "accept":
        return [job for job in jobs if job in ACCEPTANCE.values()]
    if asked.only_checked:
        return []
    return (
        list(dict.fromkeys([*judged, *jobs])) if asked.checked else jobs
    )  # its plan may have others than ran


def _is_new(run: Path, began: str) -> bool:
    """Whether a host's place in the fabric was judged after the latest playbook began."""
    verdict = read_valid(run / folders.VERDICT, VerdictRecord)
    return verdict is None or verdict.started is None or verdict.started >= began


def _ended(rows: list[Row], name: str, found: _Records, outcome: Outcome | None, stage: str) -> list[Row]:
    """Return the rows of a host on which no playbook goes on."""
    if outcome and outcome.state == "unreachable" and found.host:
        return _lost(rows, outcome)
    if (stage == "retire" or is_joint_stage(stage)) and found.plan and found.plan.federated and not outcome:
        return rows  # its jobs are over several hosts
    passed = all(row.kind == "PASS" for row in rows)
    missing = _missing(rows, found.plan, outcome, found.retired) if passed else None
    return [*rows, Row(name, None, "SKIPPED", missing)] if missing else rows


def _running(rows: list[Row], folder: Path, began: str) -> list[Row]:
    seen = read_valid(folder / folders.SEEN_RECORD, LastProgress)
    running = []
    for row in rows:
        cause = _WAITS
        if seen and seen.at >= began and row.job in {None, seen.what}:
            cause = f"{seen.what}: {seen.message}, at {format_clock(seen.at, began)}"
        waits = (row.kind == "SKIPPED" and not row.verdict) or (row.at and row.at < began) or _is_earlier(row)
        running.append(replace(row, kind="RUNNING", complaint=Complaint(cause)) if waits else row)
    return running


def _is_earlier(row: Row) -> bool:
    """Whether the verdict is on another run than the one that was sent to the host since."""
    spec = read_valid(row.home / folders.SPEC, RunSpec) if row.home and row.placed else None
    return bool(spec and row.placed and spec.nonce != row.placed.spec.nonce)


def _missing(
    rows: list[Row], plan: PlanRecord | None, outcome: Outcome | None, retired: RetiredRecord | None
) -> Complaint | None:
    """Return what a host without a failed row lacks; None if nothing.

    Earlier proofs do not count for a host that left the latest playbook.
    """
    if outcome:
        return outcome.complaint
    if plan:
        return None if rows else _NO_JOBS
    if retired:
        return None
    return _NO_PLAN if rows else _NOTHING_COLLECTED


def _unread(host: str, job: str | None, flaw: RecordError) -> Row:
    return Row(host, job, "UNPROVEN", flaw, other_version=isinstance(flaw, VersionError))


def _row(folder: Path, host: str, job: str, outcome: Outcome | None, began: str) -> Row:
    flaws: list[RecordError] = []
    verdict = _read(within.verdict_in, folder / job, flaws)
    if flaws:
        return _unread(host, job, flaws[0])
    placed = _read(lambda home: read_record(locate_placed(home, job), PlacedRecord), folder, flaws)
    if flaws:
        return _unread(host, job, flaws[0])
    if verdict is None:
        lacks = outcome.complaint if outcome else _SENT if placed else _NOTHING_COLLECTED
        return Row(host, job, "SKIPPED", lacks, placed=placed, began=began)
    if flaw := verdict.flaw(host, job):
        message = f"{folder / job / folders.VERDICT} is not a verdict. {flaw}"
        return Row(host, job, "UNPROVEN", Complaint(message, "have the job run again."))
    why = Complaint(verdict.cause) if verdict.cause else None
    return Row(host, job, verdict.verdict, why, verdict, placed=placed, began=began, home=folder / job)


def _lost(rows: list[Row], outcome: Outcome) -> list[Row]:
    """Return the rows of a host that vanished: LOST is each without a verdict, or else the host itself."""
    why = Complaint(f"The host was lost during {outcome.stage}. {outcome.message}", outcome.fix)
    marked = [
        replace(row, kind="LOST", complaint=why) if row.kind == "SKIPPED" and not row.verdict else row
        for row in rows
    ]
    if all(row.kind != "LOST" for row in marked):
        marked.append(Row(outcome.host, None, "LOST", why))
    return marked


def _kept(retired: RetiredRecord) -> str:
    removed = f"Rekindle was removed from the host at {retired.retired}"
    if not retired.files and not retired.environments:
        return f"{removed}, and nothing of it was there to keep."
    runs = ", ".join(f"{run} {verdict or 'without a verdict'}" for run, verdict in retired.runs.items())
    kept = f"{retired.files} files of logs and of {runs or 'no run'}"
    capsule = f"the capsule of {', '.join(retired.environments) or 'no environment'}"
    lost = f"; not kept, with {sum(retired.left.values()) / 1e6:.0f} MB: {', '.join(retired.left)}"
    return f"{removed}. Kept in {retired.host}/retired: {kept}; {capsule}{lost if retired.left else ''}."
