"""Two runs of one name: the second empties the workspace of the first, which no log ever says."""

from __future__ import annotations

from rekindle.flare.workspace import LOG, SERVER
from rekindle.host import folders
from rekindle.records import Finding

from .scan import Found
from .texts import Text


def overwritten(logs: list[Text]) -> Found | None:
    """Say so where NVFlare's console began before the server's log did: that log is another run's."""
    console = next((log for log in logs if log.file == folders.JOB_LOG), None)
    server = next((log for log in logs if log.file.endswith(f"/{SERVER}/{LOG}")), None)
    if console is None or server is None or not "" < console.begins < server.begins:
        return None
    finding = Finding(
        name="two_runs_of_one_name",
        cause="Another run of the same name emptied this run's workspace: "
        f"the server's log begins at {server.begins}, the run's console at {console.begins}.",
        layer="job",
        remedy="Give each run a workspace or a name of its own.",
        confidence="likely",
        file=server.file,
        line=1,
    )
    return Found(finding, "cause", server.begins, server.nearness)
