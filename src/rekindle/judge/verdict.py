# SPDX-License-Identifier: Apache-2.0
"""The verdict on a run, by the claims that its job makes and the rules that no run may break."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rekindle.doctor import diagnose_run, reported
from rekindle.doctor.known_issues import KnownIssue, known_issue
from rekindle.flare.workspace import locate
from rekindle.host import folders
from rekindle.records import ClaimResult, Ended, Finding, RecordError, RunSpec, VerdictKind, VerdictRecord
from rekindle.records.base import is_ours

from . import summary
from .check import gravity, results
from .measured import judgement
from .opener import open_run, open_workspace, split
from .run import Run
from .stood import find_lines


def judge(run_dir: Path, spec: RunSpec | None = None) -> VerdictRecord:
    """Judge the run in ``run_dir`` by the claims that its job makes.

    A run that Rekindle did not start is judged by NVFlare's own files, and is never a PASS.

    Args:
        run_dir: the run's folder, wherever it lies.
        spec: counts instead of spec.json there.

    Raises:
        RecordError: ``run_dir`` is not a run's folder.
    """
    ours = spec is not None or is_ours(run_dir / folders.SPEC)
    run = open_run(run_dir, spec) if ours else open_workspace(locate(run_dir))
    by_check = zip(*map(results, split(run)), strict=True)
    evidence = tuple(min(of_simulations, key=gravity) for of_simulations in by_check)
    verdict, seen = _verdict(run, evidence)
    findings = _findings(run, run_dir, verdict)
    root = next((finding for finding in findings if _is_root(run, finding)), None)
    known = known_issue(run.spec)
    excused, excuse = _excuse(run, known, findings)
    cause = (root.cause if root else seen, _suspensions(run, verdict), excuse)
    return VerdictRecord(
        job=run.spec.job.name,
        host=run.spec.host,
        verdict="KNOWN_ISSUE" if excused else verdict,
        required=run.spec.job.required and not _unsteady(run, evidence),
        cause=" ".join(filter(None, cause)) or None,
        remedy=root.remedy if root else _remedy(run, verdict),
        rungs=run.rungs,
        layer=root.layer if root else None,
        findings=findings,
        known_issue=known.name if known else None,
        evidence=evidence,
        started=run.ended.started if run.ended else None,
        duration_s=_duration_s(run),
        waited_s=run.ended.waited_s if run.ended else None,
        lost=dict(run.sites.lost),
        lock_sha256=run.spec.lock_sha256 or None,
        versions=run.spec.versions,
        devices=summary.devices(run),
        rounds=summary.rounds(run),
        final_metrics=summary.final_metrics(run),
        host_memory_mib=summary.host_memory_mib(run),
    )


def _duration_s(run: Run) -> float | None:
    """Return how long a run took; a foreign one, by its server's log."""
    records = run.account.records if run.kind == "foreign" else []
    if records:
        return round(max(0.0, records[-1].time - records[0].time), 3)
    return run.ended.duration_s if run.ended else None


def _verdict(run: Run, evidence: Sequence[ClaimResult]) -> tuple[VerdictKind, str | None]:
    """In this order: a run that did not end by itself, a claim that fails, an unknown one; else PASS."""
    if run.ended is None and run.kind != "foreign":
        return "UNPROVEN", "The run has no record of its end: its driver was killed, or it still runs."
    if run.ended and run.ended.reason != "finished":
        return _stopped(run, run.ended)
    false = [result for result in evidence if result.state == "fails"]
    if false and not run.unread:  # else it may be false for want of what was not read
        hangs = false[0].claim == "came_to_its_end"
        return "HUNG" if hangs else "FAIL", false[0].message
    if run.ended and run.ended.exit_status != 0:
        return "FAIL", f"job.py ended with status {run.ended.exit_status}: {run.logs.last_words}"
    unknown = [result for result in evidence if result.state == "unknown"]
    unknown.sort(key=lambda result: result.claim != "came_to_its_end")
    doubts = [*run.unread, *(result.message for result in unknown)]
    if all(result.state == "not applicable" for result in evidence):
        doubts.append("Nothing is claimed.")
    if run.kind == "foreign":
        claims = {claim.claim for claim in run.spec.job.proof}
        shown = [result.message for result in evidence if result.state == "holds" and result.claim in claims]
        doubts.append(f"NVFlare's files do not show what each site sent. They show: {' '.join(shown)}")
    return ("UNPROVEN", doubts[0]) if doubts else ("PASS", None)


def _findings(run: Run, run_dir: Path, verdict: VerdictKind) -> tuple[Finding, ...]:
    """Return the doctor's findings of a run that did not pass; of a foreign one, that failed."""
    if verdict == "PASS" or (run.kind == "foreign" and verdict == "UNPROVEN"):
        return ()
    return diagnose_run(run_dir) if run.kind == "foreign" else diagnose_run(run_dir, run.spec)


def _remedy(run: Run, verdict: VerdictKind) -> str | None:
    """Return what to do about a run whose cause the doctor does not know."""
    if verdict == "PASS":
        return None
    if run.kind == "foreign" and verdict == "UNPROVEN":
        return "Have Rekindle run the job, whose trainers and driver leave what is missing."
    if run.kind == "foreign" and verdict == "HUNG":
        return "End it, and see in job.py's output why the trainer ended early."
    if run.kind == "foreign" or run.spec.job.federated:
        return "Read the evidence of the claims that do not hold, and the sites' logs beside it."
    return _cure(run)


def _suspensions(run: Run, verdict: VerdictKind) -> str:
    """Return for how long SLURM had suspended each host of a run that did not pass."""
    spans = run.ended.suspensions if verdict != "PASS" and run.ended else ()
    seconds = {
        host: sum(span.until - span.since for span in spans if span.host == host)
        for host in dict.fromkeys(span.host for span in spans)
    }
    return " ".join(f"SLURM had suspended {host or 'the run'} for {s:.0f} s." for host, s in seconds.items())


def _excuse(run: Run, issue: KnownIssue | None, findings: tuple[Finding, ...]) -> tuple[bool, str | None]:
    """Return whether a known issue excuses a run, and the sentence that says so, or no longer does."""
    if not (issue and run.ended and issue.explains(findings)):
        return False, None
    if issue.expired(run.ended.started):
        return False, f"The known issue {issue.name} expired on {issue.expires} and excuses nothing."
    return True, f"Known until {issue.expires}: {issue.message}"


def _is_root(run: Run, finding: Finding) -> bool:
    """Whether a finding explains the verdict; a likely one may echo the driver's death.

    Of a foreign run, whose versions are unknown, each finding is less sure: a possible one counts too.
    """
    if run.kind == "foreign":
        return bool(finding.layer) and not finding.echo and not reported(finding)
    enough = {"certain"} if run.ended is None else {"certain", "likely"}
    return not finding.echo and finding.confidence in enough


def _unsteady(run: Run, evidence: Sequence[ClaimResult]) -> bool:
    """Whether only figures that vary from look to look keep a host from PASS."""
    grave = [result.claim for result in evidence if result.state in {"fails", "unknown"}]
    with suppress(RecordError):
        return grave == ["gpus_accepted"] and judgement(run).unsteady
    return False


def _cure(run: Run) -> str:
    with suppress(RecordError):
        if remedy := judgement(run).remedy:
            return remedy
    return "Read job.log, and measure the host again."


def _stopped(run: Run, ended: Ended) -> tuple[VerdictKind, str | None]:
    if ended.reason == "interrupted":
        return "FAIL", ended.message or "Stopped from outside."
    message = ended.message if ended.reason == "hung" else f"Ended at its limit of {run.spec.job.limit_s} s."
    lines = find_lines(run)
    owed = dict.fromkeys(
        f"{task.site} for its task {task.name}"
        + (f" (its trainer is at {lines[task.site]})" if task.site in lines else "")
        for task in run.account.tasks
        if not task.came
    )
    return "HUNG", f"{message} The server waits for {' and '.join(owed)}." if owed else message
