# SPDX-License-Identifier: Apache-2.0
"""The verdict on a run, by the claims that its job makes and the rules that no run may break."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from rekindle.acceptance import Judgement
from rekindle.doctor import diagnose_run
from rekindle.doctor.subjects import find_layer
from rekindle.flare.tasks import Task
from rekindle.flare.workspace import locate_workspace
from rekindle.host import folders
from rekindle.records import (
    ClaimResult,
    Diagnosis,
    Finding,
    Layer,
    RecordError,
    RunEnd,
    RunSpec,
    VerdictKind,
    VerdictRecord,
)
from rekindle.records.base import has_schema
from rekindle.records.complaint import quote_host
from rekindle.records.text import fold_line

from . import summary
from .check import CHECKS, check_simulations
from .known_issues import KnownIssue, find_known_issue
from .measurements import describe_judgement
from .opener import open_run, open_workspace, split_simulations
from .run import Run
from .standstill import find_lines

_READ = "everything_is_read"
_FIRST = ("came_to_its_end", _READ)
"""Claims that come first among those of which nothing is known."""
_FOREIGN: dict[VerdictKind, str] = {
    "UNPROVEN": "Have Rekindle run the job, whose trainers and driver leave what is missing.",
    "HUNG": "End it, and see in job.py's output why the trainer ended early.",
}
_HANGS = (
    "See what it waits for there: autopsy/stacks.txt has all frames. A task for which a trainer still waits "
    "was lost between NVFlare and it: run the job again."
)
_SENDS_NOTHING = (
    "Send a result for each model that it gets: see why its code does not come to flare.send, as a Lightning "
    "trainer does that has no batch to train on."
)
_PROVES = "A run proves it that ends by itself, leaves all its files, and claims something."
"""Where no check's sentence is the cause."""


def judge_run(run_dir: Path, spec: RunSpec | None = None) -> VerdictRecord:
    """Judge the run in ``run_dir`` by the claims that its job makes.

    A run that Rekindle did not start is judged by NVFlare's own files, and is never a PASS.

    Args:
        run_dir: the run's folder, wherever it lies.
        spec: counts instead of spec.json there.

    Raises:
        RecordError: ``run_dir`` is not a run's folder.
    """
    return _judged(run_dir, spec)[0]


def explain_run(run_dir: Path) -> Diagnosis:
    """Return why the run in ``run_dir`` failed: the cause that its verdict has, and the timeline of its logs.

    Raises:
        RecordError: ``run_dir`` is not a run's folder.
    """
    verdict, found, root = _judged(run_dir, None)
    if found is None or root is None:
        return diagnose_run(run_dir, failed=False)
    findings = found.findings
    if root in findings:
        return replace(found, cause=root, others=tuple(one for one in findings if one != root))
    own = None if verdict.verdict == "UNPROVEN" else replace(root, cause=verdict.cause or "")
    return replace(found, cause=own, others=findings)


def _judged(run_dir: Path, spec: RunSpec | None) -> tuple[VerdictRecord, Diagnosis | None, Finding | None]:
    """Return the verdict, what the doctor found of a run that may have failed, and why it is no PASS."""
    ours = spec is not None or has_schema(run_dir / folders.SPEC)
    run = open_run(run_dir, spec) if ours else open_workspace(locate_workspace(run_dir))
    evidence = check_simulations(split_simulations(run))
    verdict, seen = _verdict(run, evidence)
    found = _diagnosis(run, run_dir, verdict, evidence)
    findings = found.findings if found else ()
    shown = _shown_by(evidence, seen)
    host = _judge_host(run)
    root = (found and _root(run, verdict, found, shown)) or _own_cause(run, verdict, seen, shown, host)
    known = find_known_issue(run.spec)
    excused, excuse = _excuse(run, known, findings)
    cause = (root.cause if root else None, _suspensions(run, verdict), excuse)
    record = VerdictRecord(
        job=run.spec.job.name,
        host=run.spec.host,
        verdict="KNOWN_ISSUE" if excused else verdict,
        nonce=run.spec.nonce or None,
        required=run.spec.job.required and not (host and _unsteady(host, evidence)),
        cause=" ".join(filter(None, cause)) or None,
        remedy=root.remedy if root else None,
        action=host.action if host else None,
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
        devices=summary.summarise_devices(run),
        rounds=summary.summarise_rounds(run),
        final_metrics=summary.find_final_metrics(run),
        host_memory_mib=summary.find_peaks(run),
    )
    return record, found, root


def _own_cause(
    run: Run, verdict: VerdictKind, cause: str | None, shown: ClaimResult | None, host: Judgement | None
) -> Finding | None:
    """Return what the judge itself states of a run that is no PASS; without a layer if that was stopped."""
    if verdict == "PASS":
        return None
    layer: Layer | None = None
    interrupted = run.ended is not None and run.ended.reason == "interrupted"
    if cause and verdict in ("FAIL", "HUNG") and not interrupted:
        layer = "host" if run.kind == "acceptance" else find_layer(cause)
    return Finding(
        name=shown.claim if shown else verdict,
        cause=cause or "",
        layer=layer,
        remedy=_remedy(run, verdict, shown, host),
        confidence="likely",
        file=shown.file if shown else None,
        line=shown.line if shown else None,
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
    unknown = [result for result in evidence if result.state == "unknown"]
    unknown.sort(key=lambda result: result.claim not in _FIRST)
    damaged = any(result.claim == _READ for result in unknown)
    if damaged:  # what other lines show may be false for want of these
        false = [result for result in false if not str(result.file).startswith(f"{folders.EVIDENCE}/")]
    if false and not run.unread:  # as above
        hangs = false[0].claim == "came_to_its_end"
        return "HUNG" if hangs else "FAIL", false[0].message
    if run.ended and run.ended.exit_status != 0:
        return "FAIL", f"job.py ended with status {run.ended.exit_status}: {run.logs.last_words}"
    doubts = [*run.unread, *(result.message for result in unknown)]
    if all(result.state == "not applicable" for result in evidence):
        doubts.append("Nothing is claimed.")
    if run.kind == "foreign":
        claims = {claim.claim for claim in run.spec.job.proof}
        shown = [result.message for result in evidence if result.state == "holds" and result.claim in claims]
        doubts.append(f"NVFlare's files do not show what each site sent. They show: {' '.join(shown)}")
    return ("UNPROVEN", doubts[0]) if doubts else ("PASS", None)


def _diagnosis(
    run: Run, run_dir: Path, verdict: VerdictKind, evidence: Sequence[ClaimResult]
) -> Diagnosis | None:
    """Return what the doctor finds; None of a run that ended well."""
    if run.kind != "foreign":
        return None if verdict == "PASS" else diagnose_run(run_dir, run.spec)
    ended = any(result.claim == "came_to_its_end" and result.state == "holds" for result in evidence)
    if verdict == "UNPROVEN":
        return None if ended else diagnose_run(run_dir)
    return diagnose_run(run_dir, failed=True)


def _remedy(run: Run, verdict: VerdictKind, shown: ClaimResult | None, host: Judgement | None) -> str:
    """Return what to do about a run whose cause the doctor does not know."""
    if run.kind == "acceptance":
        return (host and host.remedy) or "Read job.log, and measure the host again."
    if run.kind == "foreign" and verdict in _FOREIGN:
        return _FOREIGN[verdict]
    if shown and shown.claim in CHECKS:
        proves = "A run proves it that" if verdict == "UNPROVEN" else "A run passes that"
        return f"{proves} shows this: {CHECKS[shown.claim].holds}"
    if verdict == "HUNG":
        return _SENDS_NOTHING if any(note.event.by == "turns" for note in run.misuses) else _HANGS
    return _PROVES if verdict == "UNPROVEN" else "Read the evidence, and the sites' logs beside it."


def _suspensions(run: Run, verdict: VerdictKind) -> str:
    """Return for how long each host of a run that did not pass was suspended."""
    spans = run.ended.suspensions if verdict != "PASS" and run.ended else ()
    seconds = {
        host: sum(span.until - span.since for span in spans if span.host == host)
        for host in dict.fromkeys(span.host for span in spans)
    }
    return " ".join(f"{host or 'The run'} was suspended for {s:.0f} s." for host, s in seconds.items())


def _excuse(run: Run, issue: KnownIssue | None, findings: tuple[Finding, ...]) -> tuple[bool, str | None]:
    """Return whether a known issue excuses a run, and the sentence that says so, or no longer does."""
    if not (issue and run.ended and issue.explains(findings)):
        return False, None
    if issue.has_expired(run.ended.started):
        return False, f"The known issue {issue.name} expired on {issue.expires} and excuses nothing."
    return True, f"Known until {issue.expires}: {issue.message}"


def _root(run: Run, verdict: VerdictKind, found: Diagnosis, shown: ClaimResult | None) -> Finding | None:
    """Return the doctor's cause if it explains the verdict, whose sentence ``shown`` has.

    It does where that sentence only echoes it, and where a site that owes a result of a run that hangs logged
    it. A likely one may itself echo the driver's death. Of a foreign run, whose versions are unknown, each
    finding is less sure: of one that failed a possible one counts too, if it is more than a logged line.
    """
    cause, foreign = found.cause, run.kind == "foreign"
    if cause is None:
        return None
    at = (shown.file, shown.line) if shown else None
    echoes = any(finding.echo and (finding.file, finding.line) == at for finding in found.findings)
    logged = cause.name.endswith("_error")
    owed = logged and verdict == "HUNG" and any(f"/{task.site}/" in f"/{cause.file}" for task in _owed(run))
    of_foreign = foreign and verdict != "UNPROVEN" and not logged
    enough = {"certain"} if run.ended is None and not foreign else {"certain", "likely"}
    return cause if echoes or owed or of_foreign or cause.confidence in enough else None


def _shown_by(evidence: Sequence[ClaimResult], cause: str | None) -> ClaimResult | None:
    """Return the result whose sentence is a verdict's cause."""
    return next((result for result in evidence if cause and result.message == cause), None)


def _judge_host(run: Run) -> Judgement | None:
    """Return the judgement on the host that a run measured; None where it left no figures of it."""
    with suppress(RecordError):
        return describe_judgement(run)
    return None


def _unsteady(host: Judgement, evidence: Sequence[ClaimResult]) -> bool:
    """Whether only figures that vary from look to look keep a host from PASS."""
    grave = [result.claim for result in evidence if result.state in {"fails", "unknown"}]
    return grave == ["gpus_accepted"] and host.unsteady


def _stopped(run: Run, ended: RunEnd) -> tuple[VerdictKind, str | None]:
    said = quote_host(fold_line(ended.message or ""))
    if ended.reason == "interrupted":
        return "FAIL", said or "Stopped from outside."
    message = said if ended.reason == "hung" else f"Ended at its limit of {run.spec.job.limit_s} s."
    lines = find_lines(run)
    owed = dict.fromkeys(
        f"{task.site} for its task {task.name}"
        + (f" (its trainer is at {lines[task.site]})" if task.site in lines else "")
        for task in _owed(run)
    )
    return "HUNG", f"{message} The server waits for {' and '.join(owed)}." if owed else message


def _owed(run: Run) -> list[Task]:
    """Return the tasks whose results the server never got."""
    return [task for task in run.account.tasks if not task.came]
