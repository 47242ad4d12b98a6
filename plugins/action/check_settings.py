# SPDX-License-Identifier: Apache-2.0
"""Action ``check_settings``: refuses settings that nobody reads or that cannot work; writes lease.json."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rekindle import settings
from rekindle.actions.base import Action, Failed
from rekindle.host import places
from rekindle.jobs import lease


class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check the host's variables; nothing is asked of the host."""
        stages = [role.rpartition(".")[2] for role in task_vars.get("ansible_play_role_names", ())]
        if mistakes := settings.of_host(task_vars, self._templar.template, places.repository(), stages):
            raise Failed.joined(mistakes)
        host = task_vars["inventory_hostname"]
        started = lease.started(Path(args["results"]), host) or datetime.now(timezone.utc)
        ends = lease.deadline(args["lease_ends"], args["budget"], started)
        lease.keep(Path(args["home"]), host, started, ends)
        return {"msg": "All settings are known."}
