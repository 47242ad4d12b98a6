"""Callback ``rekindle``: names the results folder, notes which host left where, and ends with the table."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from pathlib import Path

from ansible import context
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.callback import CallbackBase
from ansible.utils.vars import load_extra_vars

from rekindle import records, report

DOCUMENTATION = """
name: rekindle
type: aggregate
short_description: Results folder, outcomes and the closing table
description: Works on the playbooks of this repository alone and leaves any other in peace.
"""

_REPOSITORY = Path(__file__).parents[2]
_REPORT = "Report"


class CallbackModule(CallbackBase):
    """One for each ansible-playbook."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rekindle"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        """Begin without a results folder."""
        super().__init__()
        self._folder = None
        self._stage = ""
        self._hosts = {}

    def v2_playbook_on_start(self, playbook):
        """Choose the results folder and hand it to every worker."""
        path = Path(playbook._file_name).resolve()
        if path != _REPOSITORY / "site.yml" and path.parent != _REPOSITORY / "playbooks":
            return
        given = load_extra_vars(DataLoader()).get("rekindle_results") or os.environ.get("REKINDLE_RESULTS")
        name = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        self._folder = Path(given or _REPOSITORY / "results" / name).absolute()
        os.environ["REKINDLE_RESULTS"] = str(self._folder)

    def v2_playbook_on_play_start(self, play):
        """Note the hosts of a stage; what an earlier run of the stage said of them no longer counts."""
        self._stage = play.get_name()
        if self._folder is None or self._stage == _REPORT:
            return
        for host in play.get_variable_manager()._inventory.get_hosts(play.hosts):
            self._hosts[host.name] = None
            outcome = self._folder / host.name / "outcome.json"
            if outcome.exists() and records.read(outcome, records.Outcome).stage == self._stage:
                outcome.unlink()
        run = self._folder / "run.json"
        known = records.read(run, records.RunRecord) if run.exists() else None
        records.write(
            run,
            records.RunRecord(
                run=self._folder.name,
                started=known.started if known else datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                hosts=tuple(dict.fromkeys([*(known.hosts if known else ()), *self._hosts])),
            ),
        )

    def v2_runner_on_failed(self, result, ignore_errors=False):
        """Note why a host left."""
        if not ignore_errors:
            self._left(result, "failed")

    def v2_runner_on_unreachable(self, result):
        """Note that a host cannot be reached."""
        self._left(result, "unreachable")

    def _left(self, result, state):
        if self._folder is None or self._stage == _REPORT:
            return
        facts = result.result
        said = facts.get("stderr") or facts.get("msg") or "The task gave no reason."
        says = " ".join(re.sub(r"^Task failed: ", "", str(said)).split())
        if "Fix:" not in says:
            cure = (
                "check its address, port, user and key" if state == "unreachable" else "see the task's output"
            )
            says = f"{says.rstrip('.')}. Fix: {cure}."
        host = result.host.get_name()
        outcome = records.Outcome(host=host, stage=self._stage, state=state, says=says)
        records.write(self._folder / host / "outcome.json", outcome)

    def v2_playbook_on_stats(self, stats):
        """Write the reports, also where every host failed before the report's play, and show the table."""
        if self._folder is None or not context.CLIARGS:
            return
        try:
            results = report.write_reports(self._folder)
        except records.RecordError as error:
            self._display.error(str(error), wrap_text=False)
            return
        self._display.display("\n" + report.summary(results, self._folder))
