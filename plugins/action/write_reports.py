"""Action ``write_reports``: writes the reports of a results folder; fails unless everything in it passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rekindle import report
from rekindle.actions.base import Action, Failed, documented_options


class ActionModule(Action):
    """plugins/modules has its documentation."""

    OPTIONS = documented_options(__name__)

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Write report.html, results.json and junit.xml."""
        if not report.write_reports(Path(args["folder"])).passed:
            raise Failed("Not every required job passed: the table below says which.")
        return {}
