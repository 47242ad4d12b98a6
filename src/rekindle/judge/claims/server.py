"""Claims on what NVFlare's server logged: rounds aggregated, the best model, an end without an error."""

from __future__ import annotations

import re
from typing import Any

from rekindle.flare.log import read_records
from rekindle.flare.workspace import SERVER, Workspace
from rekindle.judge.answer import Answer
from rekindle.judge.contract.logs import unexplained
from rekindle.judge.run import Run

from .registry import of_workspace, validator


@validator("spec", "workspace")
def rounds_aggregated(run: Run, options: dict[str, Any]) -> Answer:
    """The server aggregated every round, each time from every site."""
    if "server" not in run.workspace.members:
        return Answer(None, "NVFlare's server left no log.")
    rounds, sites = run.spec.job.rounds, len(run.spec.sites)
    lines = run.find("server", r"Aggregated (\d+)/(\d+) results")
    whole = [line for line in lines if line.match.groups() == (str(sites), str(sites))]
    says = f"{len(whole)} of {rounds} rounds aggregated from {sites} of {sites} sites."
    if len(whole) != rounds and not _ended(run.workspace):
        says += " The server's log stops before the run's end: the server was killed or died."
    return Answer(len(whole) == rounds, says, lines[-1] if lines else None)


def _ended(workspace: Workspace) -> bool:
    """Whether the server's log goes on to the end of the run, well or not."""
    return bool(workspace.find("server", r"Server runner finished"))


@of_workspace
def server_log_clean(workspace: Workspace) -> Answer:
    """The server did not give the run up, logged no error that is not harmless, and went on to its end."""
    aborts = workspace.find("server", r"Aborting current RUN due to (.*)")
    if aborts:
        return Answer(False, f"NVFlare gave the run up: {aborts[0].match.group(1)}", aborts[0])
    server = workspace.members.get(SERVER)
    errors = server.read(server.error_log) if server else None
    if server is None or errors is None:
        return Answer(None, "NVFlare's server left no error log.")
    says, at = f"The server's error log has {len(errors)} bytes.", server.path(server.error_log)
    records = read_records(workspace, SERVER, server.error_log)
    for record, error in unexplained(SERVER, records, ended=True):
        return Answer(False, f"The server logged: {error[:300]}", record.at)
    if errors and not records:
        return Answer(False, says, at)
    if not _ended(workspace):
        return Answer(None, "The server's log does not go on to the end of the run.")
    return Answer(True, says, at)


@validator("spec", "workspace")
def best_model_selected(run: Run, options: dict[str, Any]) -> Answer:
    """Every site's metric reached the server in every round, and the server selected the best model by it.

    NVFlare leaves out the first round, whose global model nobody has trained yet.
    """
    rounds = run.spec.job.rounds - 1
    for site in run.spec.sites:
        metrics = run.find("server", rf"validation metric \S+ from client {re.escape(site.name)}$")
        if len(metrics) != rounds:
            says = f"{site.name}'s metric reached the server in {len(metrics)} of {rounds} rounds."
            return Answer(False, says, metrics[-1] if metrics else None)
    best = run.find("server", r"new best validation metric at round (\d+): (\S+)")
    if not best:
        return Answer(False, "The server selected no best model.")
    says = f"Best model: round {best[-1].match.group(1)}, validation metric {best[-1].match.group(2)}."
    return Answer(True, says, best[-1])
