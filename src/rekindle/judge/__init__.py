"""From the files of a run to its verdict: a pure function, never PASS by default or by exit status."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import mean

from msgspec.structs import replace

from rekindle.doctor import diagnose_run
from rekindle.doctor.known_issues import known_issue
from rekindle.flare.workspace import locate
from rekindle.records import Device, Evidence, JobRound, RunSpec, VerdictKind, VerdictRecord
from rekindle.records.events import DeviceEvent, RoundEvent

from . import claims, clock, contract, gpus, messages, tracking
from .foreign import judge_foreign
from .run import Run
from .validators import VALIDATORS, check

__all__ = ["VALIDATORS", "claims", "clock", "contract", "gpus", "judge", "messages", "tracking"]


def judge(run_dir: Path, spec: RunSpec | None = None) -> VerdictRecord:
    """Judge the run in ``run_dir`` by the claims that its job makes.

    A run that Rekindle did not start is judged by NVFlare's own files, and is never a PASS.

    Args:
        run_dir: the run's folder, wherever it lies.
        spec: what was asked for, and not what spec.json there says.

    Raises:
        RecordError: ``run_dir`` is no run's folder.
    """
    if spec is None and not (run_dir / "spec.json").exists():
        return _diagnosed(judge_foreign(locate(run_dir)), run_dir)
    run = Run.open(run_dir, spec)
    checked = [check(run, claim) for claim in run.spec.job.proof]
    evidence = (*(one for one in checked if one is not None), *contract.hold(run))
    verdict, cause = _verdict(run, evidence)
    findings = diagnose_run(run_dir, run.spec) if verdict != "PASS" else ()
    root = next((one for one in findings if not one.echo and one.confidence != "possible"), None)
    remedy = None
    if root is not None:
        cause, remedy = root.cause, root.remedy
    elif verdict != "PASS":
        remedy = "Read the evidence of the claims that do not hold, and the sites' logs beside it."
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
        required=run.spec.job.required,
        cause=cause,
        remedy=remedy,
        rungs=run.rungs,
        layer=root.layer if root else None,
        findings=findings,
        known_issue=known.name if known else None,
        evidence=evidence,
        started=run.ended.started if run.ended else None,
        duration_s=run.ended.duration_s if run.ended else None,
        lock_sha256=run.spec.lock_sha256,
        versions=run.spec.versions,
        devices=_devices(run),
        rounds=_rounds(run),
        final_metrics=_finite(run.final.event.metrics) if run.final else {},
        host_memory_mib=run.host_memory_mib,
    )


def _diagnosed(verdict: VerdictRecord, run_dir: Path) -> VerdictRecord:
    """Return a foreign run's verdict with the root cause of its failure, if the logs show one.

    Nobody told its versions, which makes every finding less sure: one that is only possible counts too.
    """
    findings = diagnose_run(run_dir) if verdict.verdict == "FAIL" else ()
    root = next((one for one in findings if not one.echo), None)
    if root is None:
        return replace(verdict, findings=findings)
    return replace(verdict, findings=findings, cause=root.cause, remedy=root.remedy, layer=root.layer)


def _verdict(run: Run, evidence: tuple[Evidence, ...]) -> tuple[VerdictKind, str | None]:
    """A run that did not end by itself, then a claim that fails, then one that cannot be told; else PASS."""
    job = run.spec.job
    if run.ended is None:
        return "UNPROVEN", "The run has no record of its end: its driver was killed, or it still runs."
    if run.ended.reason != "finished":
        ends: dict[str, tuple[VerdictKind, str | None]] = {
            "limit": ("HUNG", f"Ended at its limit of {job.limit_s} s."),
            "hung": ("HUNG", run.ended.says),
            "interrupted": ("FAIL", run.ended.says or "Stopped from outside."),
        }
        return ends[run.ended.reason]
    false = next((one.says for one in evidence if one.holds is False), None)
    broken = None if run.unread else false  # it may be false for want of what was not read
    if broken is None and run.ended.exit_status != 0:
        broken = f"job.py ended with status {run.ended.exit_status}: {run.last_words}"
    if broken is not None:
        return "FAIL", broken
    doubts = [*run.unread[:1], *(one.says for one in evidence if one.holds is None)]
    untold = doubts[0] if doubts else None if evidence else "Nothing is claimed."
    return ("PASS", None) if untold is None else ("UNPROVEN", untold)


def _devices(run: Run) -> tuple[Device, ...]:
    used: dict[tuple[str, str], list[int]] = {}
    held: dict[tuple[str, str], int] = {}
    for uuid, gpu in (pair for one in run.samples for pair in one.event.gpus.items()):
        for pid, mib in gpu.processes.items():
            used.setdefault((uuid, pid), []).append(gpu.utilisation)
            held[uuid, pid] = max(mib, held.get((uuid, pid), mib))
    means = {who: round(mean(seen), 1) for who, seen in used.items()}
    devices = []
    for event in (one.event for one in run.of(DeviceEvent)):
        who = event.uuid or "", str(event.pid)
        devices.append(
            Device(
                site=event.site,
                rank=event.rank,
                device=event.device,
                uuid=event.uuid,
                name=event.name,
                mean_utilisation=means.get(who),
                peak_memory_mib=held.get(who),
            )
        )
    return tuple(devices)


def _rounds(run: Run) -> tuple[JobRound, ...]:
    ranks = {site.name: site.ranks for site in run.spec.sites}
    samples: Counter[tuple[str, int]] = Counter()
    for event in (one.event for one in run.of(RoundEvent)):
        if 0 <= event.rank < ranks.get(event.site, 0):
            samples[event.site, event.round] += event.samples
    return tuple(
        JobRound(
            round=line.event.round,
            site=site.name,
            loss=line.event.losses[-1] if line.event.losses else None,
            metrics=_finite(line.event.metrics),
            samples=samples[site.name, line.event.round],
            seconds=line.event.seconds,
            bytes_in=line.event.bytes_in,
            bytes_out=line.event.bytes_out,
        )
        for site in run.spec.sites
        for line in run.rounds(site.name, 0)
    )


def _finite(metrics: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if value is not None}
