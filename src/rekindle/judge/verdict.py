"""The verdict on a run, by the claims that its job makes and the rules that no run may break."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rekindle.doctor import diagnose_run
from rekindle.doctor.known_issues import known_issue
from rekindle.flare.workspace import locate
from rekindle.host import folders
from rekindle.records import ClaimResult, Ended, Finding, RecordError, RunSpec, VerdictKind, VerdictRecord
from rekindle.records.base import is_ours

from . import summary
from .check import gravity, results
from .foreign import judge_foreign
from .measured import judgement
from .run import Run


def judge(run_dir: Path, spec: RunSpec | None = None) -> VerdictRecord:
    """Judge the run in ``run_dir`` by the claims that its job makes.

    A run that Rekindle did not start is judged by NVFlare's own files, and is never a PASS.

    Args:
        run_dir: the run's folder, wherever it lies.
        spec: counts instead of spec.json there.

    Raises:
        RecordError: ``run_dir`` is not a run's folder.
    """
    if spec is None and not is_ours(run_dir / folders.SPEC):
        return judge_foreign(run_dir, locate(run_dir))
    run = Run.open(run_dir, spec)
    by_check = zip(*map(results, run.simulations()), strict=True)
    evidence = tuple(min(of_simulations, key=gravity) for of_simulations in by_check)
    verdict, cause = _verdict(run, evidence)
    findings = diagnose_run(run_dir, run.spec) if verdict != "PASS" else ()
    root = next((finding for finding in findings if _is_root(run, finding)), None)
    remedy = None
    if root is not None:
        cause, remedy = root.cause, root.remedy
    elif verdict != "PASS" and not run.spec.job.federated:
        remedy = _cure(run)
    elif verdict != "PASS":
        remedy = "Read the evidence of the claims that do not hold, and the sites' logs beside it."
    spans = run.ended.suspensions if verdict != "PASS" and run.ended else ()
    for host in dict.fromkeys(span.host for span in spans):
        seconds = sum(span.until - span.since for span in spans if span.host == host)
        cause = f"{cause} SLURM had suspended {host or 'the run'} for {seconds:.0f} s."
    known = known_issue(run.spec)
    if known and run.ended and known.explains(findings):
        if known.expired(run.ended.started):
            cause = f"{cause} The known issue {known.name} expired on {known.expires} and excuses nothing."
        else:
            verdict = "KNOWN_ISSUE"
            cause = f"{cause} Known until {known.expires}: {known.message}"
    return VerdictRecord(
        job=run.spec.job.name,
        host=run.spec.host,
        verdict=verdict,
        required=run.spec.job.required and not _unsteady(run, evidence),
        cause=cause,
        remedy=remedy,
        rungs=run.rungs,
        layer=root.layer if root else None,
        findings=findings,
        known_issue=known.name if known else None,
        evidence=evidence,
        started=run.ended.started if run.ended else None,
        duration_s=run.ended.duration_s if run.ended else None,
        waited_s=run.ended.waited_s if run.ended else None,
        lost=dict(run.lost),
        lock_sha256=run.spec.lock_sha256,
        versions=run.spec.versions,
        devices=summary.devices(run),
        rounds=summary.rounds(run),
        final_metrics=summary.final_metrics(run),
        host_memory_mib=summary.host_memory_mib(run),
    )


def _verdict(run: Run, evidence: Sequence[ClaimResult]) -> tuple[VerdictKind, str | None]:
    """In this order: a run that did not end by itself, a claim that fails, an unknown one; else PASS."""
    if run.ended is None:
        return "UNPROVEN", "The run has no record of its end: its driver was killed, or it still runs."
    if run.ended.reason != "finished":
        return _stopped(run.ended, run.spec.job.limit_s)
    false = [result.message for result in evidence if result.state == "fails"]
    if false and not run.unread:  # else it may be false for want of what was not read
        return "FAIL", false[0]
    if run.ended.exit_status != 0:
        return "FAIL", f"job.py ended with status {run.ended.exit_status}: {run.last_words}"
    doubts = [*run.unread, *(result.message for result in evidence if result.state == "unknown")]
    if all(result.state == "not applicable" for result in evidence):
        doubts.append("Nothing is claimed.")
    return ("UNPROVEN", doubts[0]) if doubts else ("PASS", None)


def _is_root(run: Run, finding: Finding) -> bool:
    """Whether a finding explains the verdict; a likely one may echo the driver's death."""
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


def _stopped(ended: Ended, limit_s: int) -> tuple[VerdictKind, str | None]:
    if ended.reason == "interrupted":
        return "FAIL", ended.message or "Stopped from outside."
    return "HUNG", ended.message if ended.reason == "hung" else f"Ended at its limit of {limit_s} s."
