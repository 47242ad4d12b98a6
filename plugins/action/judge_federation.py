"""Action ``judge_federation``: joins what the hosts of a federation sent of a job, and judges and seals it."""

from pathlib import Path
from typing import Any

from rekindle.actions.base import Action
from rekindle.host import folders
from rekindle.records import Complaint
from rekindle.records.folders import verdict_in
from rekindle.results import federated


class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Give the verdict, and fail unless it is PASS or the job is not required."""
        results, job = Path(args["results"]), args["job"]
        hosts = [host for host in args["hosts"] if federated.placed_part(results / host, job).is_file()]
        if hosts:
            verdict = federated.join(results, job, hosts)
        else:
            verdict = verdict_in(results / folders.FEDERATIONS / job)
        if verdict.required and verdict.verdict != "PASS":
            raise Complaint(f"{job} is {verdict.verdict}: {verdict.cause}", str(verdict.remedy))
        return {}
