"""Callback ``rekindle``: names the results folder, notes which host left where, and ends with the table."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from ansible.parsing.dataloader import DataLoader
from ansible.plugins.callback import CallbackBase
from ansible.utils.display import Display
from ansible.utils.vars import load_extra_vars

from rekindle import records, report, settings
from rekindle.records.text import for_terminal
from rekindle.results import journal

DOCUMENTATION = """
name: rekindle
type: aggregate
short_description: Results folder, outcomes and the closing table
description: Works on the playbooks of this repository alone and leaves any other in peace.
"""

_REPOSITORY = Path(__file__).resolve().parents[2]
_ENTRIES = {_REPOSITORY / "site.yml", _REPOSITORY / "retire.yml"}
_REPORT = "report"
_TAKEN = {".", "..", "payload", "run.json", "report.html", "results.json", "junit.xml"}


def _told(method: Callable[..., None]) -> Callable[..., None]:
    """Say in one sentence what keeps ``method`` from its work."""

    @functools.wraps(method)
    def told(self: CallbackModule, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except records.RecordError as error:
            self._display.error(str(error), wrap_text=False)
        except OSError as error:
            what = f"{error.filename or self._folder} cannot be written: {error.strerror}."
            self._display.error(f"{what} Fix: name another folder in rekindle_results.", wrap_text=False)

    return told


class CallbackModule(CallbackBase):
    """One for each ansible-playbook; nothing here is called for --syntax-check and the --list options."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rekindle"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        """Begin without a results folder."""
        super().__init__()
        self._folder: Path | None = None
        self._began = datetime.now(timezone.utc)
        self._left: set[str] = set()

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Hand the results folder to every worker in a playbook of ours."""
        self._began = datetime.now(timezone.utc)
        path = Path(playbook._file_name).resolve()
        if path not in _ENTRIES and path.parent != _REPOSITORY / "playbooks":
            self._folder = None
            return
        os.umask(0o077)  # results are for their owner alone
        _clean_display()
        given = load_extra_vars(DataLoader()).get("rekindle_results") or os.environ.get("REKINDLE_RESULTS")
        name = self._began.strftime("%Y%m%dT%H%M%SZ")
        self._folder = Path(given or _REPOSITORY / "results" / name).expanduser().absolute()
        os.environ["REKINDLE_RESULTS"] = str(self._folder)

    @_told
    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Note the hosts of a play."""
        if self._folder is None or _stages(play) == [_REPORT]:
            return
        hosts = [host.name for host in play.get_variable_manager()._inventory.get_hosts(play.hosts)]
        self._refuse_names(hosts)
        self._refuse(settings.lines(settings.of_play(play, self._folder, _REPOSITORY)))
        now = records.timestamp(self._began)
        journal.begin_play(self._folder, _stages(play)[-1], hosts, left=self._left, now=now)

    def _refuse_names(self, hosts: list[str]) -> None:
        """Stop before anything is done for a host whose name cannot be a folder of results."""
        for name in hosts:
            if name in _TAKEN or "/" in name or not name.isprintable() or len(name.encode()) > 200:
                self._display.error(
                    f"The inventory has a host named {name!r}, which no folder of results can be. "
                    "Fix: give it a short name without /, and its address as ansible_host.",
                    wrap_text=False,
                )
                raise SystemExit(4)  # Ansible goes on after any Exception of a callback

    def _refuse(self, mistakes: list[str]) -> None:
        """Stop before anything is done for a host where any has a setting that cannot work."""
        for line in mistakes:
            self._display.error(line, wrap_text=False)
        if mistakes:
            raise SystemExit(4)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Note why a host left."""
        if not ignore_errors:
            self._note(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Note that a host cannot be reached."""
        self._note(result, "unreachable")

    @_told
    def _note(self, result: Any, state: Literal["failed", "unreachable"]) -> None:
        if self._folder is None:
            return
        stage = result.task.get_dep_chain()[0].get_name()  # the play's role, not one that it includes
        if stage == _REPORT:
            return
        host = result.host.get_name()
        self._left.add(host)
        journal.note_left(self._folder, host, stage, state, _said(result.result))

    @_told
    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write the reports, also where every host failed before the report's play, and show the table."""
        if self._folder is None:
            return
        for host in self._left.difference(stats.failures, stats.dark):
            journal.forget_left(self._folder, host)  # a rescued task, or ignore_unreachable
        results = report.write_reports(self._folder)
        self._display.display("\n" + report.summary(results, self._folder))


def _clean_display() -> None:
    """Have every text cleaned that Ansible shows: a task's error, a module's stderr, ssh's own words."""
    display = Display.display

    @functools.wraps(display)
    def cleaned(self: Display, msg: object, *args: Any, **kwargs: Any) -> Any:
        return display(self, for_terminal(str(msg), sys.stdout.isatty()), *args, **kwargs)

    Display.display = cleaned


def _stages(play: Any) -> list[str]:
    """Return the names of the play's roles."""
    return [role.get_name() for role in play.get_roles()]


def _said(result: dict[str, Any]) -> str:
    """Return what a failed task says of itself; of a loop, what its first failed item says."""
    items = [item for item in result.get("results", ()) if isinstance(item, dict) and item.get("failed")]
    said = items[0] if items else result
    message = str(said.get("msg") or said.get("censored") or "")
    if said.get("rc"):  # of a command, which says more than Ansible does of it
        message = str(said.get("stderr") or said.get("stdout") or message)
    if said.get("module_stderr"):
        message = f"{message}: {said['module_stderr']}"
    return message.removeprefix("Task failed: ")
