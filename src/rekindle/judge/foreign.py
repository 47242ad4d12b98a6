"""Runs that Rekindle did not start: NVFlare's own files show failures, and never enough for a PASS."""

import re
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from rekindle.doctor import diagnose_run, reported
from rekindle.flare import announced
from rekindle.flare.log import TRAINERS, LogRecord
from rekindle.flare.tasks import Account
from rekindle.flare.workspace import LOG, SERVER, Workspace
from rekindle.records import Claim, ClaimResult, Job, RunSpec, VerdictKind, VerdictRecord

from .check import CHECKS, Result, check, claimed, fails, holds, unknown
from .checks.logs import RAISED, printed_failures, unexplained
from .checks.server import cause as cause_of
from .printed import wrong_models
from .run import Run

_RESULTS = {
    "CrossSiteModelEval": "cross_validation_complete",
    "CrossSiteEval": "cross_validation_complete",
    "StatisticsController": "statistics_complete",
    "KM": "survival_curves_fall",
    "KM_HE": "survival_curves_fall",
    "FlowerController": "flower_results_received",
}
_TRACKERS = {"TBAnalyticsReceiver": "tensorboard", "MLflowReceiver": "mlflow", "WandBReceiver": "wandb"}
_OF_TRAINER = re.compile(
    rf"^(?:{'|'.join(TRAINERS)}) |launcher completed with status|External process exited with return code"
)
"""A site's records on the trainer that it started: its output and its end."""
_END = "came_to_its_end"
_AT_THE_END = {*_RESULTS.values(), "tracked"}
"""Claims that a run fails only once it has ended; a good run may leave its tracker empty."""
_SHOWN = {"every_site_took_part", "rounds_completed", "global_model_saved", *_RESULTS.values()}


def judge_foreign(run_dir: Path, workspace: Workspace) -> VerdictRecord:
    """Return FAIL where NVFlare's files show a failure, else HUNG or UNPROVEN with what they do not show.

    The run's versions are unknown, which makes every finding of the doctor less sure: one that is only
    possible counts as the cause too.
    """
    run = run_of(workspace)
    claims = (_weakened(run, claimed(run, claim)) for claim in run.spec.job.proof)
    evidence = [CHECKS["trainers_ended_well"].result(run), *claims, CHECKS[_END].result(run)]
    states = {result.claim: result for result in evidence}
    broken = next(
        (result.message for result in evidence if result.state == "fails" and result.claim != _END), None
    )
    findings = diagnose_run(run_dir) if broken or states[_END].state == "fails" else ()
    root = next((finding for finding in findings if finding.layer and not finding.echo), None)
    verdict, cause, remedy = _verdict(states, broken)
    records = run.account.records
    ours = [found.name for found in CHECKS.values() if "claim" in found.applies_to and found.needs]
    message = "It takes evidence that Rekindle's runs leave."
    return VerdictRecord(
        job=workspace.name,
        host=run.spec.host,
        verdict=verdict,
        cause=root.cause if root and not (broken and reported(root)) else cause,
        remedy=root.remedy if root else remedy,
        layer=root.layer if root else None,
        findings=findings,
        evidence=(*evidence, *(ClaimResult(claim=name, holds=None, message=message) for name in ours)),
        started=None,
        duration_s=round(max(0.0, records[-1].time - records[0].time), 3) if records else None,
        lock_sha256=None,
        versions={},
        devices=(),
        rounds=(),
    )


def run_of(workspace: Workspace) -> Run:
    """Return a run without evidence, whose job claims what goes with its workflows."""
    account = Account(workspace)
    proof = [Claim(claim=name) for name in ("server_log_clean", "every_site_took_part", "rounds_completed")]
    if not account.flows or any(flow.flow is None or flow.flow.trains for flow in account.flows):
        proof.append(Claim(claim="global_model_saved"))
    kinds = dict.fromkeys(_RESULTS[flow.kind] for flow in account.flows if flow.kind in _RESULTS)
    proof += [Claim(claim=name) for name in kinds]
    for component in announced.components(workspace):
        if tracker := _TRACKERS.get(component["path"].rpartition(".")[2]):
            proof.append(Claim(claim="tracked", options={"tracker": tracker}))
    identity = workspace.find(SERVER, r"\[identity=([^,\]]+)")
    job = Job(
        schema="rekindle/job/1",
        name=workspace.name,
        summary="",
        environment="torch",
        sites=len(account.sites),
        ranks_per_site=1,
        rounds=1,
        when_short_of_gpus="share",
        limit_s=1,
        proof=tuple(proof),
    )
    spec = RunSpec(
        host=identity[0].match.group(1) if identity else "unknown",
        job=job,
        sites=(),
        python="",
        lock_sha256="",
        versions={},
        tmpdir="",
    )
    return Run(workspace.folder, spec, None, [], workspace, foreign=True)


def _weakened(run: Run, result: ClaimResult) -> ClaimResult:
    early = result.claim == "tracked" or not run.account.ended
    if result.state == "fails" and result.claim in _AT_THE_END and early:
        return replace(result, holds=None)
    return result


def _verdict(results: dict[str, ClaimResult], broken: str | None) -> tuple[VerdictKind, str, str]:
    if broken:
        return "FAIL", broken, "Correct that; the logs of the server and the sites show what led to it."
    ended, ours = results[_END], "Have Rekindle run the job, whose trainers and driver leave what is missing."
    if ended.holds is False:
        return "HUNG", ended.message, "End it, and see in job.py's output why the trainer ended early."
    if ended.holds is None:
        return "UNPROVEN", ended.message, ours
    missing = ", ".join(claim for claim, result in results.items() if result.holds is None)
    shown = " ".join(result.message for claim, result in results.items() if result.holds and claim in _SHOWN)
    cause = f"NVFlare's files do not show: {f'{missing}; ' if missing else ''}what each site sent."
    return "UNPROVEN", f"{cause} They show: {shown}" if shown else cause, ours


@check("foreign")
def trainers_ended_well(run: Run) -> Result:
    """No site's log shows a trainer whose process failed, nor an unexplained error."""
    workspace, account = run.workspace, run.account
    for site in workspace.sites:
        failed = workspace.find(site, r"launcher completed with status failed")
        if failed:
            raised = workspace.find(site, rf"(?:{'|'.join(TRAINERS)}) - \w+ - {RAISED.pattern[1:]}")
            before = [line for line in raised if line.line < failed[0].line]
            why = f": {before[-1].match.group(1)}" if before else "."
            return fails(f"{site}'s trainer failed{why}", before[-1] if before else failed[0])
        records = run.records(site) if account.ended else []
        for record, message in chain(printed_failures(records), wrong_models(records)):
            return fails(f"A trainer, as {site} logged it: {message}", record.at)
        for log, ended in ((LOG, False), (workspace.members[site].error_log, True)):
            for record, message in unexplained(site, run.records(site, log), ended):
                return fails(f"{site} logged: {cause_of(record, message)}", record.at)
    missing = sorted({*account.sites} - {*workspace.sites})
    if missing or not workspace.sites:
        never = account.ended and bool(workspace.sites)
        return (fails if never else unknown)(f"No log of {', '.join(missing) or 'any site'} is there.")
    log_of_last = workspace.members[workspace.sites[-1]].path(LOG)
    return holds(f"No trainer failed at {', '.join(workspace.sites)}.", log_of_last)


@check("foreign")
def came_to_its_end(run: Run) -> Result:
    """The server's log goes on to the end of the run.

    Where it does not, the run may still go, hang, or have been stopped, which its files do not show,
    unless its log shows that a trainer in its own process ended.
    """
    account = run.account
    if account.ended:
        return holds("The server's log goes on to the end of the run.", account.records[-1].at)
    if not account.records:
        return unknown("The server left no log.")
    last = datetime.fromtimestamp(account.records[-1].time, timezone.utc).strftime("%H:%M:%S")
    message, at = f"The server's log stops at {last}, before the end of the run", account.records[-1].at
    waiting = [task for task in account.tasks if not task.came]
    for task in waiting:
        end = _end_of_trainer(run.records(task.site))
        if end:
            why = f"{task.site}'s trainer ended ({end.message[:300]})"
            return fails(
                f"{why} without a result of its task {task.name}, for which the server waits.", end.at
            )
    if not waiting:
        return unknown(f"{message}: it still runs, or was stopped.", at)
    sites = ", ".join(sorted({task.site for task in waiting}))
    message += f": it waits for the task {waiting[-1].name} of {sites}, which runs, was stopped, or hangs"
    return unknown(f"{message}. A trainer that ended early without a word leaves no line.", at)


def _end_of_trainer(records: list[LogRecord]) -> LogRecord | None:
    """Return the record of the trainer's end if it is the last on the trainer in a site's log."""
    own = [record for record in records if _OF_TRAINER.search(f"{record.logger} {record.message}")]
    return own[-1] if own and (own[-1].logger not in TRAINERS or RAISED.match(own[-1].message)) else None
