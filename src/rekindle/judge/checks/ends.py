# SPDX-License-Identifier: Apache-2.0
"""How a run went on that Rekindle did not start, by the logs of its server and trainers."""

import re
from collections.abc import Iterator
from datetime import datetime, timezone

from rekindle.flare.log import STOPS, TRAINERS, LogRecord
from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.printouts import find_wrong_models
from rekindle.judge.run import Run

from .logs import RAISED

_OF_TRAINER = re.compile(
    rf"^(?:{'|'.join(TRAINERS)}) |launcher completed with status|External process exited with return code"
)
"""A site's records on the trainer that it started: its output and its end."""


@register_check("foreign", holds="The server's log goes on to the end of the run.")
def came_to_its_end(run: Run) -> Result:
    """Where it does not, or a site's stops as it ends a trainer, the run may still go, hang, or have been
    stopped, which its files do not show, unless its log shows that a trainer in its own process ended.
    """
    account = run.account
    if account.ended:
        for site in run.workspace.sites:
            records = run.logs.records(site)
            if records and STOPS.search(records[-1].message):
                message = f"{site}'s log stops as NVFlare's client ends the trainer there."
                return unknown(message, records[-1].at)
        return holds("The server's log goes on to the end of the run.", account.records[-1].at)
    if not account.records:
        return unknown("The server left no log.")
    last = datetime.fromtimestamp(account.records[-1].time, timezone.utc).strftime("%H:%M:%S")
    at = account.records[-1].at
    waiting = [task for task in account.tasks if not task.came]
    for task in waiting:
        if end := _end_of_trainer(run.logs.records(task.site)):
            message = (
                f"{task.site}'s trainer ended ({end.message[:300]}) "
                f"without a result of its task {task.name}, for which the server waits."
            )
            return fails(message, end.at)
    if not waiting:
        message = f"The server's log stops at {last}, before the end of the run: it runs, or was stopped."
        return unknown(message, at)
    sites = ", ".join(sorted({task.site for task in waiting}))
    message = (
        f"The server's log stops at {last}, before the end of the run: it waits for the task "
        f"{waiting[-1].name} of {sites}, which runs, was stopped, or hangs. "
        "A trainer that ended early without a word leaves no line."
    )
    return unknown(message, at)


def _end_of_trainer(records: list[LogRecord]) -> LogRecord | None:
    """Return the record of the trainer's end if it is the last on the trainer in a site's log."""
    own = [record for record in records if _OF_TRAINER.search(f"{record.logger} {record.message}")]
    return own[-1] if own and (own[-1].logger not in TRAINERS or RAISED.match(own[-1].message)) else None


@register_check("foreign", holds="No model that a trainer printed is of NaN alone, or the same each time.")
def printed_models_are_trained(run: Run) -> Iterator[Result]:
    for name in run.workspace.sites:
        for record, message in find_wrong_models(run.logs.records(name)):
            yield fails(f"{name} logged of its trainer: {message}", record.at)
