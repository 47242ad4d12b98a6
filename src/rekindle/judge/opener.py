# SPDX-License-Identifier: Apache-2.0
"""Opens a run that Rekindle did not start: NVFlare's own files, and what its workflows have to show."""

from rekindle.flare.tasks import Account
from rekindle.flare.workspace import SERVER, Workspace
from rekindle.records import Claim, Job, RunSpec, Site

from .run import Run

OUTPUTS = {
    "CrossSiteModelEval": "cross_validation_complete",
    "CrossSiteEval": "cross_validation_complete",
    "StatisticsController": "statistics_complete",
    "KM": "survival_curves_fall",
    "KM_HE": "survival_curves_fall",
    "FlowerController": "flower_results_received",
}
"""The claim on the results of a workflow, by its class."""


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
    return Run(workspace.folder, spec, None, [], workspace, foreign=True)


def _claims(account: Account) -> list[Claim]:
    """Return what the run's files alone can show."""
    outputs = (OUTPUTS[flow.kind] for flow in account.flows if flow.kind in OUTPUTS)
    return [
        Claim(claim=name) for name in ("every_site_took_part", "rounds_completed", *dict.fromkeys(outputs))
    ]
