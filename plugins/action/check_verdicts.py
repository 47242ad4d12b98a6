"""Action ``check_verdicts``: fails unless every required job of the host has a PASS at home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rekindle.actions.base import REQUIRED, Action
from rekindle.records import Complaint, RecordError
from rekindle.records.folders import verdict_in


class ActionModule(Action):
    """Arguments: ``folder`` (the host's records), ``jobs``."""

    _supports_check_mode = False

    ARGUMENTS = {
        "folder": REQUIRED,
        "jobs": {"type": "list", "elements": "str", **REQUIRED},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the verdicts."""
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
                why = " ".join(filter(None, (verdict.contradiction, verdict.cause)))
                complaints.append(Complaint(f"{name} is {verdict.verdict}: {why}", str(verdict.remedy)))
        said = "\n".join(map(str, complaints))
        return {"failed": bool(said), "msg": said or "Every required job passed."}
