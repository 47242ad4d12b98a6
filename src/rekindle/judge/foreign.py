"""Runs that Rekindle did not start: NVFlare's own files show failures, and never enough for a PASS."""

from __future__ import annotations

import re
from pathlib import Path

from rekindle.doctor import diagnose_run
from rekindle.flare.log import read_records
from rekindle.flare.workspace import ERROR_LOG, LOG, Workspace
from rekindle.records import VerdictRecord

from .answer import Answer
from .claims import NEEDS
from .claims.server import aggregated, ended, log_clean

UNTOLD = tuple(name for name, needs in NEEDS.items() if needs & {"evidence", "samples", "end"})
"""Claims that take what Rekindle's trainers and driver write down."""


def judge_foreign(run_dir: Path, workspace: Workspace) -> VerdictRecord:
    """Return FAIL where NVFlare's files show a failure, else UNPROVEN with what they do not show.

    Nobody told the run's versions, which makes every finding of the doctor less sure: one that is only
    possible counts as the cause too.
    """
    answers = {
        "trainers_ended_well": _trainers_ended_well(workspace),
        "rounds_aggregated": _rounds_aggregated(workspace),
        "server_log_clean": log_clean(workspace),
        "global_model_saved": _global_model_saved(workspace),
        **dict.fromkeys(UNTOLD, Answer(None, "It takes evidence that Rekindle's runs leave.")),
    }
    broken = next((answer.says for answer in answers.values() if answer.holds is False), None)
    missing = ", ".join(claim for claim, answer in answers.items() if answer.holds is None)
    findings = diagnose_run(run_dir) if broken else ()
    root = next((finding for finding in findings if not finding.echo), None)
    remedy = (
        "Mend that; it stands in the logs of the server and the sites, with what led to it."
        if broken
        else "Have Rekindle run the job, whose trainers and driver leave the evidence that is missing."
    )
    identity = workspace.find("server", r"\[identity=([^,\]]+)")
    told = read_records(workspace, "server")
    return VerdictRecord(
        job=workspace.name,
        host=identity[0].match.group(1) if identity else "unknown",
        verdict="FAIL" if broken else "UNPROVEN",
        cause=root.cause if root else broken or f"NVFlare's files do not show: {missing}.",
        remedy=root.remedy if root else remedy,
        layer=root.layer if root else None,
        findings=findings,
        evidence=tuple(answer.result(claim, workspace.folder) for claim, answer in answers.items()),
        started=None,
        duration_s=round(told[-1].time - told[0].time, 3) if told else None,
        lock_sha256=None,
        versions={},
        devices=(),
        rounds=(),
    )


def _trainers_ended_well(workspace: Workspace) -> Answer:
    """No site's log shows a trainer whose process failed, nor an error."""
    for site in workspace.sites:
        failed = workspace.find(site, r"launcher completed with status failed")
        if failed:
            raised = workspace.find(
                site, r"SubprocessLauncher - \w+ - (\w[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)"
            )
            before = [line for line in raised if line.line < failed[0].line]
            why = f": {before[-1].match.group(1)}" if before else "."
            return Answer(False, f"{site}'s trainer failed{why}", before[-1] if before else failed[0])
    missing = sorted(_sampled_sites(workspace) - {*workspace.sites})
    if missing or not workspace.sites:
        return Answer(None, f"{', '.join(missing) or 'No site'} left no log.")
    for site in workspace.sites:
        if workspace.members[site].read(ERROR_LOG):
            return Answer(None, f"{site}'s error log is not empty.", workspace.members[site].path(ERROR_LOG))
    log = workspace.members[workspace.sites[-1]].path(LOG)
    return Answer(True, f"No trainer failed at {', '.join(workspace.sites)}.", log)


def _rounds_aggregated(workspace: Workspace) -> Answer:
    """The server aggregated every round that its configuration announced, from all sites that it asked."""
    rounds, sites = workspace.rounds(), _sampled_sites(workspace)
    if rounds is None or not sites:
        return Answer(None, "Nothing tells how many rounds there should be, and of whom.")
    told = aggregated(workspace, rounds, len(sites))
    return told if told.holds or ended(workspace) else told._replace(holds=None)


def _global_model_saved(workspace: Workspace) -> Answer:
    """The server saved a global model; whether it is a good one is not told."""
    saved = next(((name, size) for name, size in workspace.models().items() if size), None)
    if saved is None:
        return Answer(None, "No model file is in the server's folder.")
    name, size = saved
    return Answer(True, f"{name} has {size} bytes.", workspace.members["server"].path(name))


def _sampled_sites(workspace: Workspace) -> set[str]:
    """Return the sites that the server asked to train."""
    asked = workspace.find("server", r"Sampled clients: \[(.*)")
    return set(re.findall(r"'([^']+)'", asked[0].match.group(1).rpartition("]")[0])) if asked else set()
