"""Claims on what NVFlare's server logged: rounds aggregated, the best model, an end without an error."""

from __future__ import annotations

import re

from rekindle.flare.log import LogRecord
from rekindle.flare.workspace import SERVER
from rekindle.judge.check import Result, check, fails, holds, shown, unknown
from rekindle.judge.run import Run

from .logs import RAISED, unexplained


@check("claim")
def rounds_aggregated(run: Run) -> Result:
    """The server aggregated every round, each time from every site."""
    if "server" not in run.workspace.members:
        return unknown("NVFlare's server left no log.")
    rounds, sites = run.spec.job.rounds, len(run.spec.sites)
    lines = run.find("server", r"Aggregated (\d+)/(\d+) results")
    whole = [line for line in lines if line.match.groups() == (str(sites), str(sites))]
    says = f"{len(whole)} of {rounds} rounds aggregated from {sites} of {sites} sites."
    if len(whole) != rounds and not run.account.ended:
        says += " The server's log stops before the run's end: the server was killed or died."
    return shown(len(whole) == rounds, says, lines[-1] if lines else None)


@check("claim")
def server_log_clean(run: Run) -> Result:
    """The server did not give the run up, logged no error that is not harmless, and went on to its end."""
    server, aborts = run.workspace.members.get(SERVER), run.find(SERVER, r"Aborting current RUN due to (.*)")
    records = run.records(SERVER, server.error_log) if server else []
    error = next(unexplained(SERVER, records, ended=True), None)
    if error and "Aborting current RUN" not in error[1]:
        return fails(f"The server logged: {cause(*error)}", error[0].at)
    if aborts:
        return fails(f"NVFlare gave the run up: {aborts[0].match.group(1)}", aborts[0])
    errors = server.read(server.error_log) if server else None
    if server is None or errors is None:
        return unknown("NVFlare's server left no error log.")
    says, at = f"The server's error log has {len(errors)} bytes.", server.path(server.error_log)
    if errors and not records:
        return fails(says, at)
    if not run.account.ended:
        return unknown("The server's log does not go on to the end of the run.")
    return holds(says, at)


def cause(record: LogRecord, says: str) -> str:
    """Return what an error in a log comes to, which is the exception where it is a traceback."""
    raised = [line for line in record.more if RAISED.match(line)]
    return raised[-1][:300] if raised and says.startswith("Traceback") else says[:300]


@check("claim")
def best_model_selected(run: Run) -> Result:
    """Every site's metric reached the server in every round, and the server selected the best model by it.

    NVFlare leaves out the first round, whose global model nobody has trained yet.
    """
    rounds = run.spec.job.rounds - 1
    for site in run.spec.sites:
        metrics = run.find("server", rf"validation metric \S+ from client {re.escape(site.name)}$")
        if len(metrics) != rounds:
            says = f"{site.name}'s metric reached the server in {len(metrics)} of {rounds} rounds."
            return fails(says, metrics[-1] if metrics else None)
    best = run.find("server", r"new best validation metric at round (\d+): (\S+)")
    if not best:
        return fails("The server selected no best model.")
    says = f"Best model: round {best[-1].match.group(1)}, validation metric {best[-1].match.group(2)}."
    return holds(says, best[-1])
