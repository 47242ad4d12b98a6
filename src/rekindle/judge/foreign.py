"""Runs that Rekindle did not start: NVFlare's own files show failures, and never enough for a PASS."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from rekindle.flare.workspace import ERROR_LOG, LOG, LogLine, Workspace
from rekindle.records import Evidence, VerdictKind, VerdictRecord

from .server import ended, server_log_clean

UNTOLD = (
    "every_rank_on_its_device",
    "gpus_busy",
    "every_rank_trained",
    "loss_falls",
    "model_changed",
    "metric_reached",
    "duration_plausible",
)
"""Claims that take the evidence of Rekindle's trainers and driver."""


def judge_foreign(run: Workspace) -> VerdictRecord:
    """Return FAIL where NVFlare's files show a failure, else UNPROVEN with what they do not show."""
    shown = [check(run, check.__name__) for check in _CHECKS]
    untold = [run.evidence(claim, None, "It takes evidence that Rekindle's runs leave.") for claim in UNTOLD]
    evidence = (*shown, *untold)
    broken = next((one.says for one in evidence if one.holds is False), None)
    missing = ", ".join(one.claim for one in evidence if one.holds is None)
    verdict: VerdictKind = "FAIL" if broken else "UNPROVEN"
    remedy = (
        "Mend that; it stands in the logs of the server and the sites, with what led to it."
        if broken
        else "Have Rekindle run the job, whose trainers and driver leave the evidence that is missing."
    )
    identity = run.find("server", r"\[identity=([^,\]]+)")
    stamps = run.find("server", r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3} ")
    return VerdictRecord(
        job=run.name,
        host=identity[0].match.group(1) if identity else "unknown",
        verdict=verdict,
        cause=broken or f"NVFlare's files do not show: {missing}.",
        remedy=remedy,
        evidence=evidence,
        started=None,
        duration_s=_between(stamps[0], stamps[-1]) if stamps else None,
        lock_sha256=None,
        versions={},
        devices=(),
        rounds=(),
    )


def trainers_ended_well(run: Workspace, claim: str) -> Evidence:
    """No site's log shows a trainer whose process failed, nor an error."""
    missing = sorted({*_announced_sites(run)} - {*run.sites})
    for site in run.sites:
        failed = run.find(site, r"launcher completed with status failed")
        if failed:
            raised = run.find(
                site, r"SubprocessLauncher - \w+ - (\w[\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)"
            )
            before = [one for one in raised if one.line < failed[0].line]
            why = f": {before[-1].match.group(1)}" if before else "."
            return run.evidence(claim, False, f"{site}'s trainer failed{why}", [*failed[:1], *before][-1])
    if missing or not run.sites:
        who = ", ".join(missing) or "No site"
        return run.evidence(claim, None, f"{who} left no log.")
    for site in run.sites:
        if run.members[site].read(ERROR_LOG):
            errors = run.members[site].path(ERROR_LOG)
            return run.evidence(claim, None, f"{site}'s error log is not empty.", errors)
    log = run.members[run.sites[-1]].path(LOG)
    return run.evidence(claim, True, f"No trainer failed at {', '.join(run.sites)}.", log)


def rounds_aggregated(run: Workspace, claim: str) -> Evidence:
    """The server aggregated every round that its configuration announced, from all sites that it asked."""
    rounds = run.rounds()
    lines = run.find("server", r"Aggregated (\d+)/(\d+) results")
    good = [one for one in lines if one.match.group(1) == one.match.group(2)]
    if rounds is None:
        return run.evidence(
            claim, None, f"{len(good)} rounds aggregated; nothing tells how many there should be."
        )
    says = f"{len(good)} of {rounds} rounds aggregated from every site that was asked."
    if len(good) == rounds:
        return run.evidence(claim, True, says, good[-1] if good else None)
    return run.evidence(claim, False if ended(run) else None, says, lines[-1] if lines else None)


def global_model_saved(run: Workspace, claim: str) -> Evidence:
    """The server saved a global model; whether it is a good one is not told."""
    saved = {name: size for name, size in run.models().items() if size}
    if not saved:
        return run.evidence(claim, None, "No model file is in the server's folder.")
    name, size = next(iter(saved.items()))
    return run.evidence(claim, True, f"{name} has {size} bytes.", run.members["server"].path(name))


_CHECKS: tuple[Callable[[Workspace, str], Evidence], ...] = (
    trainers_ended_well,
    rounds_aggregated,
    server_log_clean,
    global_model_saved,
)


def _announced_sites(run: Workspace) -> list[str]:
    """Return the sites that the server asked to train."""
    asked = run.find("server", r"Sampled clients: \[(.*)")
    return re.findall(r"'([^']+)'", asked[0].match.group(1).rpartition("]")[0]) if asked else []


def _between(first: LogLine, last: LogLine) -> float | None:
    """Return the seconds between two stamps; None if one is no time."""
    try:
        begin, end = (datetime.fromisoformat(one.match.group(1)) for one in (first, last))
    except ValueError:
        return None
    return (end - begin).total_seconds()
