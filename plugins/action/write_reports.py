"""Action ``write_reports``: writes the reports of a results folder; fails unless everything in it passed."""

from __future__ import annotations

from pathlib import Path

from ansible.plugins.action import ActionBase

from rekindle import records, report


class ActionModule(ActionBase):
    """Argument: ``folder``."""

    _supports_check_mode = False

    def run(self, tmp=None, task_vars=None):
        """Write report.html, results.json and junit.xml."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec({"folder": {"required": True}})
        try:
            results = report.write_reports(Path(args["folder"]))
        except records.RecordError as error:
            return {**result, "failed": True, "msg": str(error)}
        if results.passed:
            return result
        return {**result, "failed": True, "msg": "Not every required job passed: the table below says which."}
