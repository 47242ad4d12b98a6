"""Action ``check_verdicts``: fails unless every required job of the host has a PASS at home."""

from __future__ import annotations

from pathlib import Path

from ansible.plugins.action import ActionBase

from rekindle import records


class ActionModule(ActionBase):
    """Arguments: ``folder`` (the host's records), ``jobs``."""

    _supports_check_mode = False

    def run(self, tmp=None, task_vars=None):
        """Read the verdicts."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "folder": {"required": True},
                "jobs": {"type": "list", "elements": "str", "required": True},
            }
        )
        said = []
        for name in args["jobs"]:
            try:
                verdict = records.read(Path(args["folder"], name, "verdict.json"), records.VerdictRecord)
            except records.RecordError as error:
                said.append(str(error))
                continue
            if flaw := verdict.flaw(task_vars["inventory_hostname"], name):
                said.append(f"{name} has no verdict: {flaw} Fix: have it run again.")
            elif verdict.required and verdict.verdict != "PASS":
                why = " ".join(filter(None, (verdict.contradiction, verdict.cause)))
                said.append(f"{name} is {verdict.verdict}: {why} Fix: {verdict.remedy}")
        return {**result, "failed": bool(said), "msg": "\n".join(said) or "Every required job passed."}
