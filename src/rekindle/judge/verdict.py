"""The verdict on a run, by the claims that its job makes and the rules that no run may break."""

from __future__ import annotations

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
from .check import GRAVITY, results
from .foreign import judge_foreign
from .measured import judgement
from .run import Run


def judge(run_dir: Path, spec: RunSpec | None = None) -> VerdictRecord:
    """Judge the run in ``run_dir`` by the claims that its job makes.

    A run that Rekindle did not start is judged by NVFlare's own files, and is never a PASS.

    Args:
        run_dir: the run's folder, wherever it lies.
        spec: what was asked for, and not what spec.json there says.

    Raises:
        RecordError: ``run_dir`` is not a run's folder.
    """
    if spec is None and not is_ours(run_dir / folders.SPEC):
        return judge_foreign(run_dir, locate(run_dir))
    run = Run.open(run_dir, spec)
    simulations = run.simulations() if run.spec.job.example else [run]
    evidence = tuple(map(_worst, zip(*map(results, simulations), strict=True)))
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
    if verdict != "PASS" and run.ended and run.ended.suspensions:
        seconds = sum(suspension.until - suspension.since for suspension in run.ended.suspensions)
        cause = f"{cause} SLURM had suspended the run for {seconds:.0f} s."
    known = known_issue(run.spec)
    if known and run.ended and known.explains(findings):
        if known.expired(run.ended.started):
            cause = f"{cause} The known issue {known.name} expired on {known.expires} and excuses nothing."
        else:
            verdict = "KNOWN_ISSUE"
            cause = f"{cause} Known until {known.expires}: {known.says}"
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
        lock_sha256=run.spec.lock_sha256,
        versions=run.spec.versions,
        devices=summary.devices(run),
        rounds=summary.rounds(run),
        final_metrics=summary.final_metrics(run),
        host_memory_mib=summary.host_memory_mib(run),
    )


def _worst(of_simulations: Sequence[ClaimResult]) -> ClaimResult:
    """Return of one check's results, one of each simulation, what counts for the run."""
    return min(of_simulations, key=lambda result: GRAVITY.index(result.state))


def _verdict(run: Run, evidence: Sequence[ClaimResult]) -> tuple[VerdictKind, str | None]:
    """A run that did not end by itself, then a claim that fails, then one that cannot be told; else PASS."""
    if run.ended is None:
        return "UNPROVEN", "The run has no record of its end: its driver was killed, or it still runs."
    if run.ended.reason != "finished":
        return _stopped(run.ended, run.spec.job.limit_s)
    false = [result.says for result in evidence if result.state == "fails"]
    if false and not run.unread:  # else it may be false for want of what was not read
        return "FAIL", false[0]
    if run.ended.exit_status != 0:
        return "FAIL", f"job.py ended with status {run.ended.exit_status}: {run.last_words}"
    doubts = [*run.unread, *(result.says for result in evidence if result.state == "unknown")]
    if all(result.state == "not applicable" for result in evidence):
        doubts.append("Nothing is claimed.")
    return ("UNPROVEN", doubts[0]) if doubts else ("PASS", None)


def _is_root(run: Run, finding: Finding) -> bool:
    """Whether a finding is why the run has not passed; what is only likely may echo its driver's death."""
    enough = {"certain"} if run.ended is None else {"certain", "likely"}
    return not finding.echo and finding.confidence in enough


def _unsteady(run: Run, evidence: Sequence[ClaimResult]) -> bool:
    """Whether all that is against a host is that figures vary from look to look."""
    grave = [result.claim for result in evidence if result.state in {"fails", "unknown"}]
    with suppress(RecordError):
        return grave == ["gpus_accepted"] and judgement(run).unsteady
    return False


def _cure(run: Run) -> str:
    """Return what to do about a host that was measured, or was not."""
    with suppress(RecordError):
        if remedy := judgement(run).remedy:
            return remedy
    return "Read job.log, and measure the host again."


def _stopped(ended: Ended, limit_s: int) -> tuple[VerdictKind, str | None]:
    if ended.reason == "interrupted":
        return "FAIL", ended.says or "Stopped from outside."
    return "HUNG", ended.says if ended.reason == "hung" else f"Ended at its limit of {limit_s} s."
