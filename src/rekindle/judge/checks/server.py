"""Claims on what NVFlare's server logged: rounds aggregated, the best model, an end without an error."""

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
    least = "at least " if run.lost else ""
    lines = run.find("server", r"Aggregated (\d+)/(\d+) results")
    asked = {str(sites + left) for left in range(len(run.lost) + 1)}
    complete = [line for line in lines if line.match[1] == str(sites) and line.match[2] in asked]
    message = (
        f"{len(complete)} of {rounds} rounds aggregated from {least}{sites} of {len(run.all_sites)} sites."
    )
    if len(complete) != rounds and not run.account.ended:
        message += " The server's log stops before the run's end: the server was killed or died."
    return shown(len(complete) == rounds, message, lines[-1] if lines else None)


@check("claim")
def server_log_clean(run: Run) -> Result:
    """The server did not abort the run, logged only harmless errors, and reached its end."""
    server, aborts = run.workspace.members.get(SERVER), run.find(SERVER, r"Aborting current RUN due to (.*)")
    records = run.records(SERVER, server.error_log) if server else []
    error = next(unexplained(SERVER, records, ended=True, lost=run.lost), None)
    if error and "Aborting current RUN" not in error[1]:
        return fails(f"The server logged: {cause(*error)}", error[0].at)
    if aborts:
        return fails(f"NVFlare aborted the run: {aborts[0].match.group(1)}", aborts[0])
    errors = server.read(server.error_log) if server else None
    if server is None or errors is None:
        return unknown("NVFlare's server left no error log.")
    message, at = f"The server's error log has {len(errors)} bytes.", server.path(server.error_log)
    if errors and not records:
        return fails(message, at)
    if not run.account.ended:
        return unknown("The server's log does not go on to the end of the run.")
    return holds(message, at)


def cause(record: LogRecord, message: str) -> str:
    """Return the message of an error in a log; of a traceback, its exception."""
    raised = [line for line in record.more if RAISED.match(line)]
    return raised[-1][:300] if raised and message.startswith("Traceback") else message[:300]


@check("claim")
def best_model_selected(run: Run) -> Result:
    """Every site's metric reached the server in every round, and the server selected the best model by it.

    NVFlare leaves out the first round, whose global model nobody has trained yet.
    """
    rounds = run.spec.job.rounds - 1
    for site in run.spec.sites:
        metrics = run.find("server", rf"validation metric \S+ from client {re.escape(site.name)}$")
        if len(metrics) != rounds:
            message = f"{site.name}'s metric reached the server in {len(metrics)} of {rounds} rounds."
            return fails(message, metrics[-1] if metrics else None)
    best = run.find("server", r"new best validation metric at round (\d+): (\S+)")
    if not best:
        return fails("The server selected no best model.")
    message = f"Best model: round {best[-1].match.group(1)}, validation metric {best[-1].match.group(2)}."
    return holds(message, best[-1])
