# SPDX-License-Identifier: Apache-2.0
"""Findings that take several texts of a run, or all stacks of a process, and not one pattern."""

import re

from rekindle.flare.processes import client_in
from rekindle.flare.workspace import LOG, SERVER
from rekindle.host import folders
from rekindle.records import Finding

from .scan import Found
from .texts import Text

_BLOCK = re.compile(r"^Process \d{1,8}: ", re.MULTILINE)
_WAITS = "InProcessClientAPIExecutor.execute ("
_RUNS = "TaskScriptRunner.run ("
_NAMED = 10
_FEDERATED, _FIRST_LINE = "Runner_process started.", 200
"""First word of the log of a job's server in a federation."""


def ended_scripts(logs: list[Text]) -> Found | None:
    """Find a client that waits for a result and has no thread that runs the script."""
    for log in logs:
        waiting = _waiting(log.body) if _WAITS in log.body else {}
        if not waiting:
            continue
        sites = list(dict.fromkeys(client_in(block) or "a site" for block in waiting.values()))[:_NAMED]
        finding = Finding(
            name="script_ended_in_client",
            cause=f"The training script of {', '.join(sites)} ended before it sent the result of its task, "
            "and NVFlare's client, in which it ran, waits for that without end.",
            layer="job",
            remedy="Let the script go on, with a result for each task, until flare.is_running() is false: it "
            "returned early, called sys.exit, or raised what it printed to job.log alone.",
            confidence="certain",
            file=log.file,
            line=log.line(next(iter(waiting))),
        )
        return Found(finding, "symptom", "", log.nearness)
    return None


def _waiting(stacks: str) -> dict[int, str]:
    starts = [match.start() for match in _BLOCK.finditer(stacks)]
    ends = [*starts[1:], len(stacks)]
    blocks = {start: stacks[start:end] for start, end in zip(starts, ends, strict=False)}
    return {start: block for start, block in blocks.items() if _WAITS in block and _RUNS not in block}


def overwritten(logs: list[Text]) -> Found | None:
    """Find a server's log that began after NVFlare's console: it is another run's."""
    console = next((log for log in logs if log.file == folders.JOB_LOG), None)
    server = next((log for log in logs if log.file.endswith(f"/{SERVER}/{LOG}")), None)
    if console is None or server is None or not "" < console.begins < server.begins:
        return None
    if _FEDERATED in server.raw[:_FIRST_LINE]:  # its parent process logs before it
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
