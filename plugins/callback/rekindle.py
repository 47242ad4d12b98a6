# SPDX-License-Identifier: Apache-2.0
"""Callback ``rekindle``: names the results folder, notes which host left where, and ends with the table."""

import atexit
import functools
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Literal

import ansible.release
from ansible import context
from ansible.plugins.callback import CallbackBase
from ansible.utils.display import Display

_REPOSITORY = Path(__file__).resolve().parents[2]
_NEEDS = (
    "cryptography",
    "jinja2",
    "junitparser",
    "msgspec",
    "prometheus_client",
    "psutil",
    "rich",
    "uv",
    "yaml",
)


def _find_rekindle() -> None:
    """Make Rekindle's code importable for the Python that Ansible runs in, even if it is not installed there.

    This is the first of our plugins that is loaded, before any task.

    Raises:
        SystemExit: that Python or its Ansible is too old, or lacks a package; a sentence names it.
    """
    if (_REPOSITORY / "src" / "rekindle").is_dir():
        sys.path.insert(0, str(_REPOSITORY / "src"))
    lacks = [name for name in ("rekindle", *_NEEDS) if find_spec(name) is None]
    if sys.version_info < (3, 11):
        lacks = ["Python 3.11 or newer"]
    elif tuple(int(part) for part in ansible.release.__version__.split(".")[:2]) < (2, 17):
        lacks = ["ansible-core 2.17 or newer"]
    if lacks:
        fix = "install Rekindle beside Ansible, in one environment of Python 3.11 or newer."
        if (_REPOSITORY / "Makefile").exists():
            ours = _REPOSITORY / ".venv" / "bin" / "ansible-playbook"
            made = "" if ours.exists() else f"make -C {shlex.quote(str(_REPOSITORY))}, and then "
            fix = f"{made}type {shlex.quote(str(ours))} in place of ansible-playbook."
        who = f"which the Python that runs Ansible lacks ({sys.executable})"
        Display().error(f"Rekindle needs {', '.join(lacks)}, {who}. Fix: {fix}", wrap_text=False)
        raise SystemExit(4)


_find_rekindle()

from rekindle import records, settings
from rekindle.actions import live, notification
from rekindle.actions.address import find_address
from rekindle.actions.output import clean_display, explain_failure, take_part
from rekindle.host import folders, paths
from rekindle.report.check import format_check
from rekindle.report.reports import format_summary, write_reports
from rekindle.report.table import can_redraw
from rekindle.results import journal, seal
from rekindle.results.check import check_plan
from rekindle.results.host_keys import describe_host_key
from rekindle.results.joints import list_joints

DOCUMENTATION = """
name: rekindle
type: aggregate
short_description: Results folder, outcomes and the closing table, or what a check found
description: Works on the playbooks of this repository, and on any other from its first role of ours on.
"""

_ENTRIES = {_REPOSITORY / name for name in ("site.yml", "fabric.yml", "federate.yml", "retire.yml")}
_REPORT = "report"
_TAKEN = {".", "..", "payload", folders.PLAY_RECORD, folders.HOSTS, *(kind.folder for kind in list_joints())}
_TAKEN |= {folders.FABRIC_RECORD, folders.SUMS, folders.SIGNATURE, *folders.REPORTS}


def _reports_errors(method: Callable[..., None]) -> Callable[..., None]:
    """Show errors of ``method`` as one sentence."""

    @functools.wraps(method)
    def wrapped(self: "CallbackModule", *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except (records.RecordError, OSError) as error:
            self._display.error(_explain(error, self._folder), wrap_text=False)

    return wrapped


def _explain(error: records.RecordError | OSError, folder: Path | None) -> str:
    if isinstance(error, records.RecordError):
        return str(error)
    what = f"{error.filename or folder} cannot be written: {error.strerror}."
    return f"{what} Fix: name another folder in rekindle_results."


class CallbackModule(CallbackBase):
    """One for each ansible-playbook; nothing here is called for --syntax-check and the --list options."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "rekindle"
    CALLBACK_NEEDS_ENABLED = False  # nothing enables it where ansible.cfg is not read

    def __init__(self) -> None:
        """Begin without a results folder."""
        super().__init__()
        # One is loaded with our playbooks, and another where the user has enabled it too.
        self.disabled = hasattr(Display, "rekindle")
        Display.rekindle = self
        self._folder: Path | None = None
        self._before: dict[str, str] | None = None
        self._on_end: list[str] = []
        self._ours = False
        self._beside = _REPOSITORY
        self._play: Any = None
        self._reached: set[str] = set()
        self._began = datetime.now(timezone.utc)
        self._left: set[str] = set()
        self._failed_items: dict[tuple[str, str], records.Complaint] = {}
        """Why the first item of a loop failed, by host and task."""
        self._checks = bool(context.CLIARGS.get("check"))
        self._playing: BinaryIO | None = None
        self._first_task = ""
        self._view: live.View | None = None

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Note the time, and the default folder for results of this playbook."""
        self._began = datetime.now(timezone.utc)
        path = Path(playbook._file_name).resolve()
        self._ours = path in _ENTRIES or path.parent == _REPOSITORY / "playbooks"
        here = not self._ours or os.environ.get("REKINDLE_TOLD")  # the rekindle command's: where its user is
        self._beside = Path("results").absolute() if here else paths.find_results(_REPOSITORY)
        if self._ours:
            self._refuse(settings.refuse_leaving_out(context.CLIARGS, _REPOSITORY))

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Begin with a play that names our roles."""
        self._play, self._reached = play, set()
        if roles := [_name(role) for role in play.get_roles() if _is_ours(role)]:
            self._begin(roles)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """Begin with a role of ours that a playbook includes dynamically; after the first task, the view."""
        self._first_task = self._first_task or task._uuid
        begun = self._playing and self._view is None and task._uuid != self._first_task and can_redraw()
        if begun and self._folder and self._ours and "retire" not in self._reached and live.is_live_wanted():
            self._view = live.View(self._folder)
            atexit.register(self._view.end)
        stage = _stage(task)
        if stage is not None and stage not in self._reached:
            self._begin([stage])

    def _begin(self, roles: list[str]) -> None:
        """Begin with a play that has these roles, or stop where its results cannot be kept."""
        try:
            self._note_play(roles)
        except (records.RecordError, OSError) as error:
            self._refuse([_explain(error, self._folder)])

    def _note_play(self, roles: list[str]) -> None:
        """Hand the results folder to every worker, and note the hosts."""
        self._reached.update(roles)
        variables = self._play.get_variable_manager()
        hosts = variables._inventory.get_hosts(self._play.hosts)
        if self._folder is None:
            os.umask(0o077)  # results are for their owner alone
            clean_display()
            default = os.environ.get("REKINDLE_RESULTS") or str(self._new_folder())
            os.environ["REKINDLE_RESULTS"] = default
            given, self._on_end = settings.find_run(self._play)
            self._folder = Path(given or default).expanduser().absolute()
            os.environ["REKINDLE_RESULTS"] = str(self._folder)
            self._before = seal.take_digests(self._folder)
            atexit.register(self._end_early)
        if roles == [_REPORT]:
            self._end()
        if stages := [name for name in roles if name != _REPORT]:
            names = [host.name for host in hosts]
            self._refuse(settings.find_group_mistakes(variables._inventory.get_groups_dict(), stages))
            self._refuse(notification.find_program_mistakes(self._on_end))
            if self._ours and not names:
                self._refuse(["No host is left to do anything for. Fix: put one in the inventory."])
            self._refuse_names(names)
            self._refuse(settings.find_play_mistakes(self._play, self._folder, _REPOSITORY))
            if not self._checks:
                names += [kind.folder for kind in list_joints() if kind.stage in stages]
            now = records.format_time(self._began)
            journal.begin_play(
                self._folder,
                stages[-1],
                names,
                left=self._left,
                now=now,
                typed=settings.format_command(sys.argv, os.environ, _extra(), self._folder),
                checks=self._checks,
            )
            if not self._checks and self._playing is None:
                self._playing = journal.keep_playing(self._folder)
                journal.link_latest(self._beside, self._folder)
            if file := os.environ.get("REKINDLE_TOLD"):  # the rekindle command reads it
                Path(file).write_text(str(self._folder), encoding="utf-8")

    def _new_folder(self) -> Path:
        """Return the default folder for results; a check's is removed after it."""
        if not self._checks:
            return self._beside / self._began.strftime("%Y%m%dT%H%M%SZ")
        if file := os.environ.get("REKINDLE_TOLD"):
            return Path(file).with_name("check")
        folder = tempfile.mkdtemp(prefix="rekindle-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _refuse_names(self, hosts: list[str]) -> None:
        """Stop before anything is done for a host whose name cannot be a folder of results."""
        self._refuse(
            [
                f"The inventory has a host named {name!r}, which no folder of results can be. "
                "Fix: give it a short name without /, and its address as ansible_host."
                for name in hosts
                if name in _TAKEN or "/" in name or not name.isprintable() or len(name.encode()) > 200
            ]
        )

    def _refuse(self, mistakes: list[str]) -> None:
        """Show mistakes and stop before anything is done for a host."""
        for line in mistakes:
            self._display.error(line, wrap_text=False)
        if mistakes:
            if file := os.environ.get("REKINDLE_TOLD"):
                Path(file).with_name("refused").write_text("\n".join(mistakes), encoding="utf-8")
            self._end()
            raise SystemExit(4)  # Ansible goes on after any Exception of a callback

    def _end(self) -> None:
        if self._playing and self._folder:
            journal.stop_playing(self._folder, self._playing)
        self._playing = None

    def _end_early(self) -> None:
        """Show an interrupted user where results are, and what continues."""
        if self._playing:
            self._end()
            follows = "Jobs that have started continue on their hosts, and the same command follows them."
            goes_on = "The same command retires what is left." if "retire" in self._reached else follows
            self._display.display(f"\nInterrupted. Results so far: {self._folder}\n{goes_on}")

    def v2_runner_item_on_failed(self, result: Any) -> None:
        """Keep why an item of a loop failed, which ansible-core 2.21 leaves out of the loop's own result."""
        of, task, item = (take_part(result, name) for name in ("host", "task", "result"))
        self._failed_items.setdefault((of.get_name(), task._uuid), explain_failure(task.action, item))

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Note why a host left."""
        if not ignore_errors:
            self._note(result, "failed")

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Note that a host cannot be reached."""
        self._note(result, "unreachable")

    @_reports_errors
    def _note(self, result: Any, state: Literal["failed", "unreachable"]) -> None:
        task, of, answer = (take_part(result, name) for name in ("task", "host", "result"))
        stage = _stage(task)
        if self._folder is None or stage is None or stage == _REPORT:
            return
        host = of.get_name()
        self._left.add(host)
        why = self._failed_items.pop((host, task._uuid), None) or explain_failure(task.action, answer)
        if state == "unreachable":
            why = describe_host_key(why.message, *find_address(self._play, of)) or why
        journal.note_left(self._folder, host, stage, state, why, checks=self._checks)
        if self._view:  # which this is above
            line = f"{host} {state} at {stage}: {records.text.fold_line(str(why))}"
            self._display.display(line, color="red", stderr=True)

    @_reports_errors
    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Write the reports, also where every host failed before the report's play, and show the table."""
        if self._folder is None:
            return
        if self._view:
            self._view.end()
        for host in self._left.difference(stats.failures, stats.dark):
            journal.forget_left(self._folder, host, checks=self._checks)  # rescued, or ignore_unreachable
        self._end()
        if self._checks:
            self._display.display("\n" + format_check(check_plan(self._folder)))
        else:
            results = write_reports(self._folder)
            self._display.display("\n" + format_summary(results, self._folder))
        if self._before is not None or not self._checks:
            seal.seal_folder(self._folder, self._before)
        if (
            self._on_end
            and not self._checks
            and (flaw := notification.notify_command(self._on_end, self._folder))
        ):
            self._display.warning(flaw)


def _extra() -> list[str]:
    return [str(value) for value in context.CLIARGS.get("extra_vars") or ()]


def _is_ours(role: Any) -> bool:
    return str(role.get_name()).startswith("rekindle.flare.")


def _name(role: Any) -> str:
    return str(role.get_name(include_role_fqcn=False))


def _stage(task: Any) -> str | None:
    """Return the outermost role of ours that a task belongs to; roles that it includes are not stages."""
    return next((_name(role) for role in task.get_dep_chain() or () if _is_ours(role)), None)
