# SPDX-License-Identifier: Apache-2.0
"""Action ``judge_federation``: joins, judges and seals what the hosts of a federation have of a job."""

from pathlib import Path
from typing import Any

from rekindle.actions.base import Action
from rekindle.federation import parts


class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Give the verdict; the report fails unless a required job is PASS."""
        results, job = Path(args["results"]), args["job"]
        hosts = [host for host in args["hosts"] if parts.locate_placed_part(results / host, job).is_file()]
        if not hosts:
            return {"skipped": True, "skip_reason": f"{job} was not placed on the hosts."}
        return {"msg": f"{job} is {parts.join_parts(results, job, hosts).verdict}."}
