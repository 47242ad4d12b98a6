"""How NVFlare's server says that a run ended."""

from __future__ import annotations

from rekindle.flare.workspace import ERROR_LOG, Workspace
from rekindle.records import Evidence


def ended(run: Workspace) -> bool:
    """Whether the server's log goes on to the end of the run, well or not."""
    return bool(run.find("server", r"Server runner finished"))


def server_log_clean(run: Workspace, claim: str) -> Evidence:
    """The server did not give the run up, its error log is empty, and its log goes on to its end."""
    aborts = run.find("server", r"Aborting current RUN due to (.*)")
    if aborts:
        says = f"NVFlare gave the run up: {aborts[0].match.group(1)}"
        return run.evidence(claim, False, says, aborts[0])
    server = run.members.get("server")
    errors = server.read(ERROR_LOG) if server else None
    if server is None or errors is None:
        return run.evidence(claim, None, "NVFlare's server left no error log.")
    says, at = f"The server's error log has {len(errors)} bytes.", server.path(ERROR_LOG)
    if errors:
        return run.evidence(claim, False, says, at)
    if not ended(run):
        return run.evidence(claim, None, "The server's log does not go on to the end of the run.")
    return run.evidence(claim, True, says, at)
