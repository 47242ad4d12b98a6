"""Runs that Rekindle did not start: NVFlare's own files show failures, and never enough for a PASS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from rekindle.doctor import diagnose_run
from rekindle.flare import announced
from rekindle.flare.log import LogRecord, read_records
from rekindle.flare.tasks import Account
from rekindle.flare.wording import TRAINERS
from rekindle.flare.workspace import LOG, SERVER, Workspace
from rekindle.records import VerdictKind, VerdictRecord

from .answer import Answer
from .claims import NEEDS
from .claims.models import model_saved
from .claims.participation import completed, took_part
from .claims.results import (
    cross_validation_complete,
    flower_results_received,
    statistics_complete,
    survival_curves_fall,
)
from .claims.server import server_log_clean
from .claims.trackers import tracker_kept
from .contract.logs import RAISED, printed_failures, unexplained

UNTOLD = tuple(name for name, needs in NEEDS.items() if needs & {"evidence", "samples", "end"})
"""Claims that take what Rekindle's trainers and driver write down."""
_RESULTS = {
    "CrossSiteModelEval": cross_validation_complete,
    "CrossSiteEval": cross_validation_complete,
    "StatisticsController": statistics_complete,
    "KM": survival_curves_fall,
    "KM_HE": survival_curves_fall,
    "FlowerController": flower_results_received,
}
"""What a workflow comes to, by its class."""
_TRACKERS = {"TBAnalyticsReceiver": "tensorboard", "MLflowReceiver": "mlflow", "WandBReceiver": "wandb"}
"""What keeps a run's metrics, by the class of the component that hands them on."""
_OF_TRAINER = re.compile(
    rf"^(?:{'|'.join(TRAINERS)}) |launcher completed with status|External process exited with return code"
)
"""What a site logs of the trainer that it started: what it prints, and that it ended."""
_END = "came_to_its_end"
_SHOWN = {
    "every_site_took_part",
    "rounds_completed",
    "global_model_saved",
    *(claim.__name__ for claim in _RESULTS.values()),
}
"""What an UNPROVEN run's verdict tells that its files do show."""


def judge_foreign(run_dir: Path, workspace: Workspace) -> VerdictRecord:
    """Return FAIL where NVFlare's files show a failure, else HUNG or UNPROVEN with what they do not show.

    Nobody told the run's versions, which makes every finding of the doctor less sure: one that is only
    possible counts as the cause too.
    """
    account = Account(workspace)
    answers = dict(_answers(workspace, account))
    false = (answer.says for claim, answer in answers.items() if answer.holds is False and claim != _END)
    broken = next(false, None)
    findings = diagnose_run(run_dir) if broken or answers[_END].holds is False else ()
    root = next((finding for finding in findings if not finding.echo), None)
    verdict, cause, remedy = _verdict(answers, broken)
    identity = workspace.find(SERVER, r"\[identity=([^,\]]+)")
    records, ours = account.records, Answer(None, "It takes evidence that Rekindle's runs leave.")
    evidence = {**answers, **dict.fromkeys(UNTOLD, ours)}.items()
    return VerdictRecord(
        job=workspace.name,
        host=identity[0].match.group(1) if identity else "unknown",
        verdict=verdict,
        cause=root.cause if root else cause,
        remedy=root.remedy if root else remedy,
        layer=root.layer if root else None,
        findings=findings,
        evidence=tuple(answer.result(claim, workspace.folder) for claim, answer in evidence),
        started=None,
        duration_s=round(records[-1].time - records[0].time, 3) if records else None,
        lock_sha256=None,
        versions={},
        devices=(),
        rounds=(),
    )


def _verdict(answers: dict[str, Answer], broken: str | None) -> tuple[VerdictKind, str, str]:
    """Return verdict, cause and remedy of a run of which the doctor knows nothing."""
    if broken:
        return (
            "FAIL",
            broken,
            "Mend that; it stands in the logs of the server and the sites, with what led to it.",
        )
    ended, ours = answers[_END], "Have Rekindle run the job, whose trainers and driver leave what is missing."
    if ended.holds is False:
        return "HUNG", ended.says, "End it, and see in what its job.py printed why the trainer ended early."
    if ended.holds is None:
        return "UNPROVEN", ended.says, ours
    missing = ", ".join(claim for claim, answer in answers.items() if answer.holds is None)
    shown = " ".join(answer.says for claim, answer in answers.items() if answer.holds and claim in _SHOWN)
    cause = f"NVFlare's files do not show: {f'{missing}; ' if missing else ''}what each site sent."
    return "UNPROVEN", f"{cause} They show: {shown}" if shown else cause, ours


def _answers(workspace: Workspace, account: Account) -> Iterator[tuple[str, Answer]]:
    """Yield each claim that goes with the run's workflows, and what its files say to it."""
    yield "trainers_ended_well", _trainers_ended_well(workspace, account)
    yield "server_log_clean", _server_log_clean(workspace)
    yield "every_site_took_part", took_part(account)
    yield "rounds_completed", completed(account)
    if not account.flows or any(flow.flow is None or flow.flow.trains for flow in account.flows):
        yield "global_model_saved", model_saved(workspace)
    for claim in dict.fromkeys(_RESULTS[flow.kind] for flow in account.flows if flow.kind in _RESULTS):
        answer = claim(workspace)
        yield claim.__name__, answer if account.ended or answer.holds else answer._replace(holds=None)
    for component in announced.components(workspace):
        tracker = _TRACKERS.get(component["path"].rpartition(".")[2])
        if tracker:  # a run is a good one, too, that told its tracker nothing
            answer = tracker_kept(workspace, tracker)
            yield "tracked", answer if answer.holds else answer._replace(holds=None)
    yield _END, _came_to_its_end(workspace, account)


def _trainers_ended_well(workspace: Workspace, account: Account) -> Answer:
    """No site's log shows a trainer whose process failed, nor an error that is not harmless."""
    for site in workspace.sites:
        failed = workspace.find(site, r"launcher completed with status failed")
        if failed:
            raised = workspace.find(site, rf"(?:{'|'.join(TRAINERS)}) - \w+ - {RAISED.pattern[1:]}")
            before = [line for line in raised if line.line < failed[0].line]
            why = f": {before[-1].match.group(1)}" if before else "."
            return Answer(False, f"{site}'s trainer failed{why}", before[-1] if before else failed[0])
        for record, says in printed_failures(read_records(workspace, site)) if account.ended else ():
            return Answer(False, f"A trainer, as {site} logged it: {says}", record.at)
        for log, ended in ((LOG, False), (workspace.members[site].error_log, True)):
            for record, says in unexplained(site, read_records(workspace, site, log), ended):
                return Answer(False, f"{site} logged: {_cause(record, says)}", record.at)
    missing = sorted({*account.sites} - {*workspace.sites})
    if missing or not workspace.sites:
        never = account.ended and bool(workspace.sites)
        return Answer(False if never else None, f"No log of {', '.join(missing) or 'any site'} is there.")
    log_of_last = workspace.members[workspace.sites[-1]].path(LOG)
    return Answer(True, f"No trainer failed at {', '.join(workspace.sites)}.", log_of_last)


def _server_log_clean(workspace: Workspace) -> Answer:
    """As the claim of that name; but an error that was logged before the server gave up is why it did."""
    answer = server_log_clean(workspace)
    server = workspace.members.get(SERVER)
    logged = read_records(workspace, SERVER, server.error_log) if server else []
    record, says = next(unexplained(SERVER, logged, ended=True), (None, ""))
    if answer.holds is not False or record is None or "Aborting current RUN" in says:
        return answer
    return Answer(False, f"The server logged: {_cause(record, says)}", record.at)


def _cause(record: LogRecord, says: str) -> str:
    """Return what a record says, which is the exception where it is a traceback."""
    raised = [line for line in record.more if RAISED.match(line)]
    return raised[-1][:300] if raised and says.startswith("Traceback") else says[:300]


def _came_to_its_end(workspace: Workspace, account: Account) -> Answer:
    """The server's log goes on to the end of the run.

    Where it does not, the files of a run that still goes, was ended from outside, or hangs are the same,
    but for a trainer of its own process that is shown to be gone.
    """
    if account.ended:
        return Answer(True, "The server's log goes on to the end of the run.", account.records[-1].at)
    if not account.records:
        return Answer(None, "The server left no log.")
    last = datetime.fromtimestamp(account.records[-1].time, timezone.utc).strftime("%H:%M:%S")
    says, at = f"The server's log stops at {last}, before the end of the run", account.records[-1].at
    waiting = [task for task in account.tasks if not task.came]
    for task in waiting:
        gone = _gone(read_records(workspace, task.site))
        if gone:
            why = (
                f"{task.site}'s trainer ended ({gone.message[:300]}) without a result of its task {task.name}"
            )
            return Answer(False, f"{why}, for which the server waits.", gone.at)
    if not waiting:
        return Answer(None, f"{says}: it still runs, or was stopped.", at)
    sites = ", ".join(sorted({task.site for task in waiting}))
    says = f"{says}: it waits for the task {waiting[-1].name} of {sites}, which runs, was stopped, or hangs"
    return Answer(None, f"{says}. A trainer inside NVFlare's client that ended early leaves no line.", at)


def _gone(records: list[LogRecord]) -> LogRecord | None:
    """Return where a site's log says last of its trainer that it is gone; None if it says something else."""
    own = [record for record in records if _OF_TRAINER.search(f"{record.logger} {record.message}")]
    return own[-1] if own and (own[-1].logger not in TRAINERS or RAISED.match(own[-1].message)) else None
