# SPDX-License-Identifier: Apache-2.0
"""Action ``check_verdicts``: fails unless every required job of the host has a PASS on the controller.

Under check, it fails unless every one could run there, within the lease.
"""

from pathlib import Path
from typing import Any

from rekindle import jobs
from rekindle.actions.base import Action
from rekindle.jobs import lease
from rekindle.records import Complaint, RecordError
from rekindle.records.layout import host_in, plan_in, verdict_in


class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = True

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the verdicts, or what there would be of them."""
        if self._task.check_mode:
            return _foreseen(Path(args["folder"]))
        complaints: list[Complaint] = []
        for name in args["jobs"]:
            try:
                verdict = verdict_in(Path(args["folder"], name))
            except RecordError as error:
                complaints.append(error)
                continue
            if flaw := verdict.flaw(task_vars["inventory_hostname"], name):
                complaints.append(Complaint(f"{name} has no verdict: {flaw}", "have it run again."))
            elif verdict.required and verdict.verdict != "PASS":
                message = f"{name} is {verdict.verdict}: {verdict.cause}"
                complaints.append(Complaint(message, str(verdict.remedy)))
        if complaints:
            raise Complaint.join(complaints)
        return {"msg": "Every required job passed."}


def _foreseen(folder: Path) -> dict[str, Any]:
    host, plan = host_in(folder), plan_in(folder)
    left_s = lease.measure_left(folder)
    if reasons := jobs.find_stops(jobs.load_planned(plan), host, plan, left_s):
        raise Complaint.join(reasons)
    return {"msg": "Every required job could run."}
