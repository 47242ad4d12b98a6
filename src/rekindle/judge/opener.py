# SPDX-License-Identifier: Apache-2.0
"""Opens what is judged: a run's folder, or NVFlare's own files of a run that Rekindle did not start."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from rekindle.flare.tasks import Account
from rekindle.flare.workspace import ALL_LOGS, SERVER, Workspace, find_workspaces
from rekindle.host import folders
from rekindle.records import Claim, Job, RecordError, RunSpec, Site
from rekindle.records.events import ConfigurationEvent
from rekindle.records.evidence import EvidenceLine, read_evidence
from rekindle.records.layout import ended_in, left_in, spec_in

from .clocks import shift_to_controller
from .logs import Logs
from .run import Run
from .sites import RunSites, drop_sites, find_gone_sites, name_sites

_PROOF = (folders.EVENTS, folders.ALL_SAMPLES, f"{folders.EVIDENCE}/", ALL_LOGS, folders.JOB_LOG)
"""Files that prove something."""
_MOST = 64
"""Simulations of one run that are judged, each with all of its evidence."""


def open_run(folder: Path, spec: RunSpec | None = None) -> Run:
    """Return the run in a folder, by its spec.json unless there is a ``spec`` that counts instead.

    Raises:
        RecordError: it is not a run's folder, or a record in it is broken.
    """
    spec = spec or spec_in(folder)
    if not spec.sites:
        raise RecordError(f"{folder / folders.SPEC} names no site.", "have its stage write it again.")
    if spec.job.federated and spec.job.example is None:
        raise RecordError(f"{folder} is a run of an earlier version of Rekindle.", "run the job again.")
    workspace, evidence = find_workspaces(folder)[0], read_evidence(folder)
    spec = name_sites(spec, workspace)
    lines = shift_to_controller(evidence.lines, folder, spec)
    gone = find_gone_sites(spec, workspace, Logs(folder, workspace).printed) if spec.over_hosts else {}
    stayed = drop_sites(spec, gone)
    left = left_in(folder).files if (folder / folders.LEFT).exists() else {}
    return Run(
        folder,
        stayed,
        "federated" if spec.job.federated else "acceptance",
        ended=ended_in(folder) if (folder / folders.ENDED).exists() else None,
        lines=lines,
        workspace=replace(workspace, configurations=_configurations(lines, folders.SERVER_EVENTS)),
        sites=RunSites(spec.sites, gone, gone if len(stayed.sites) < len(spec.sites) else {}),
        unread=(*evidence.unread, *workspace.unread(), *_describe_left(left)),
        broken=tuple(evidence.broken),
        left=left,
    )


def open_workspace(workspace: Workspace) -> Run:
    """Return a run without evidence, whose job claims what goes with its workflows."""
    account = Account(workspace)
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
        proof=tuple(_claims(account)),
    )
    spec = RunSpec(
        host=identity[0].match.group(1) if identity else "unknown",
        job=job,
        sites=tuple(Site(name=name, ranks=1, gpus=()) for name in workspace.sites),
        python="",
        lock_sha256="",
        versions={},
        tmpdir="",
    )
    sites = RunSites(spec.sites, {}, {})
    return Run(workspace.folder, spec, "foreign", ended=None, lines=[], workspace=workspace, sites=sites)


def split_simulations(run: Run) -> list[Run]:
    """Return a run once for each simulation that its job.py started, with the evidence of that one."""
    every = find_workspaces(run.folder)
    if len(every) < 2:
        return [run]
    workspaces = every[:_MOST]
    if len(every) > _MOST:
        left = f"Of {len(every)} simulations the first {_MOST} alone are judged."
        run = replace(run, unread=(*run.unread, left))
    own, written = [folders.name_server_events(w.job) for w in workspaces], {line.file for line in run.lines}
    files = [file if file in written else folders.SERVER_EVENTS for file in own]
    servers = {*own, folders.SERVER_EVENTS}
    return [
        replace(
            run,
            spec=name_sites(run.spec, workspace),
            lines=[
                line for line in run.lines if folders.parse_recorder(line.file)[1] not in servers - {file}
            ],
            workspace=replace(workspace, configurations=_configurations(run.lines, file)),
            unread=(*run.unread, *workspace.unread()),
        )
        for workspace, file in zip(workspaces, files, strict=True)
    ]


def _describe_left(left: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each file of the proof that stayed on the host, by why each file did."""
    for name, why in left.items():
        if any(fnmatch(name, pattern) for pattern in _PROOF):
            yield f"{name} stayed on the host: {why}."


def _configurations(lines: list[EvidenceLine[Any]], file: str) -> dict[str, dict[str, Any]]:
    """Return the configurations of the simulation whose server wrote ``file``, by member."""
    mine = (line.event for line in lines if folders.parse_recorder(line.file)[1] == file)
    return {event.member: event.content for event in mine if isinstance(event, ConfigurationEvent)}


def _claims(account: Account) -> list[Claim]:
    """Return what the run's files alone can show."""
    kinds = (flow.flow for flow in account.flows if flow.flow and not flow.flow.logs_metrics)
    outputs = dict.fromkeys(kind.claim for kind in kinds if kind.claim)
    return [Claim(claim=name) for name in ("every_site_took_part", "rounds_completed", *outputs)]
