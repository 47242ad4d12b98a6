# SPDX-License-Identifier: Apache-2.0
"""Action ``write_reports``: writes the reports of a results folder; fails unless everything in it passed."""

from pathlib import Path
from typing import Any

from rekindle.actions.base import Action
from rekindle.records import Complaint
from rekindle.report.reports import write_reports


class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Write report.html, results.json and junit.xml."""
        if not write_reports(Path(args["folder"])).passed:
            raise Complaint("Not every required job passed: see the answer below.")
        return {}
