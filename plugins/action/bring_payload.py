"""Action ``bring_payload``: Rekindle's own code and the jobs, brought to the host in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action.copy import ActionModule as Copy
from ansible.utils.display import Display

from rekindle import records
from rekindle.actions.base import REQUIRED, site
from rekindle.actions.limits import limited
from rekindle.host import folders
from rekindle.host.payload import build_payload, left_behind

_JOBS = site(__file__) / "flare_jobs"


@limited
class ActionModule(Copy):
    """Arguments: ``root`` on the host; here ``results`` and the host's folder in it, ``home``."""

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Bring it, and write payload.json; warn of files that may be missed on the host."""
        _, args = self.validate_argument_spec(dict.fromkeys(("root", "results", "home"), REQUIRED))
        if left := left_behind(_JOBS):
            names = ", ".join(f"flare_jobs/{name}" for name in left[:5])
            Display().warning(f"Not tracked by git and not brought to hosts: {names}. Fix: git add them.")
        payload = build_payload(_JOBS, Path(args["results"], "payload"))
        folder = f"{args['root']}/{folders.JOBS}/"
        self._task.args = {"src": str(payload), "dest": folder, "mode": "0600", "directory_mode": "0700"}
        result: dict[str, Any] = super().run(tmp, task_vars)
        if not result.get("failed"):
            host = (task_vars or {})["inventory_hostname"]
            brought = records.PayloadRecord(host=host, path=folder + payload.name)
            records.write(Path(args["home"], "payload.json"), brought)
        return result
