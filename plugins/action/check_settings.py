# SPDX-License-Identifier: Apache-2.0
"""Action ``check_settings``: refuses settings that nobody reads or that cannot work; writes lease.json."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rekindle import settings
from rekindle.actions.base import Action
from rekindle.host import paths
from rekindle.jobs import lease
from rekindle.records import Complaint


class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check the host's variables; nothing is asked of the host."""
        stages = [role.rpartition(".")[2] for role in task_vars.get("ansible_play_role_names", ())]
        if mistakes := settings.find_host_mistakes(
            task_vars, self._templar.template, paths.find_collection(), stages
        ):
            raise Complaint.join(mistakes)
        host = task_vars["inventory_hostname"]
        started = lease.find_start(Path(args["results"]), host) or datetime.now(timezone.utc)
        ends = lease.find_deadline(args["lease_ends"], args["budget"], started)
        lease.write_lease(Path(args["home"]), host, started, ends)
        return {"msg": "All settings are known."}
