# SPDX-License-Identifier: Apache-2.0
"""``rekindle site`` and ``retire``: the plays, by ansible-runner.

ansible-runner's own settings (callback, cache, unchecked host keys) are not used: everything is as with
``ansible-playbook``.
"""

import locale
import os
import re
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise, takewhile
from json import dumps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import psutil
import typer
from ansible_runner.interface import init_command_config

from rekindle.host import paths
from rekindle.jobs import list_jobs
from rekindle.records import Complaint
from rekindle.records.complaint import FIX
from rekindle.report.data import ResultsData, make_results_data
from rekindle.results.check import CheckData, check_plan
from rekindle.results.contents import gather_results

from .record_paths import is_results
from .verb import FAILED, OK, UNKNOWN, USAGE, Answer, Json, Verb, print_answer

T = TypeVar("T")
Jobs = Annotated[
    list[str] | None,
    typer.Option(
        "--job",
        metavar="JOB",
        help="Your own job, as its script or folder, or one of ours; repeatable. Instead of rekindle_jobs.",
    ),
]
_INVENTORY = re.compile(r"-[A-Za-z]*i|--i")
"""Options of Ansible's that name an inventory: ``-i x``, ``-vi x``, ``--inventory=x``."""

_OURS = ("--check", "-C", "--status", "--stop")
"""Options that make a verb another."""
_NOT_PROVEN = (2, 4, 8)
"""Ansible's statuses of plays in which a host failed, was unreachable, or ended the play."""
_NO_ANSWER = (99, 250, 254, 255)
"""Ansible's and ansible-runner's statuses after an interrupt or an unexpected error."""


def _results(folder: Path) -> ResultsData:
    return make_results_data(gather_results(folder))


def run_playbook(
    playbook: str, arguments: list[str], json: bool, read: Callable[[Path], Any] = _results
) -> Answer:
    """Run a playbook; with ``json``, print what ``read`` returns of its results folder."""
    status, found = start_playbook(playbook, arguments, json, read if json else None)
    return print_answer(status, "", found, json) if found else Answer(status, "")


def _run_site(
    context: typer.Context,
    job: Jobs = None,
    checks: Annotated[
        bool, typer.Option("--check", "-C", help="Show what would be done on each host, and change nothing.")
    ] = False,
    json: Json = False,
) -> Answer:
    arguments = [*(["--check"] if checks else []), *context.args]
    if job:
        arguments += ["-e", dumps({"rekindle_jobs": [_named(one) for one in job]})]
    return run_playbook("site.yml", arguments, json, check_plan if checks else _results)


def _run_retire(context: typer.Context, json: Json = False) -> Answer:
    return run_playbook("retire.yml", context.args, json)


def _named(job: str) -> str:
    """Return a job as rekindle_jobs has it: the path of one that is here, or a name of one of ours."""
    path = paths.resolve_path(job)
    return str(path) if job not in list_jobs(paths.JOBS) and path.exists() else job


_OF_PLAYS: dict[str, Any] = {
    "wrong": "called wrongly: nothing began, and Ansible reports why",
    "unknown": "it was interrupted, or ended unexpectedly",
    "passes_on": True,
}
SITE = Verb(
    "site",
    _run_site,
    (ResultsData, CheckData),
    examples=(
        "-i lease_hosts",
        "-i lease_hosts --job /data/my_project/job.py",
        "-i lease_hosts --check",
        "-i lease_hosts --json 2> log",
    ),
    good="every required job on every host is PASS; with --check, every host is ready",
    bad="one is not, or a host was not reached or is refused",
    **_OF_PLAYS,
)
RETIRE = Verb(
    "retire",
    _run_retire,
    ResultsData,
    examples=("-i lease_hosts", "-i lease_hosts -e stop=true"),
    good="nothing of Rekindle is left on any host",
    bad="a host was left as it is",
    **_OF_PLAYS,
)


def start_playbook(
    playbook: str, arguments: list[str], json: bool, read: Callable[[Path], T] | None
) -> tuple[int, T | None]:
    """Run a playbook of ours, with ``json`` to standard error.

    Return our exit status, and what ``read`` returns of the results folder if a play began.

    Raises:
        Complaint: the arguments name no inventory or are no UTF-8, or with ``json`` nothing began.
    """
    _require_utf8(arguments)
    _require_inventory(arguments)
    path = str(paths.find_collection() / "playbooks" / playbook)
    with tempfile.TemporaryDirectory(prefix="rekindle-") as folder:
        note = Path(folder, "results")
        runner = init_command_config(
            sys.executable,
            ["-P", "-m", "ansible", "playbook", path, *arguments],  # -P: no module of the user's folder
            private_data_dir=folder,
            input_fd=sys.stdin,
            output_fd=sys.stderr if json else sys.stdout,
            error_fd=sys.stderr,
            status_handler=_forget_environment,
        )
        runner.config.env = _environment(note, [Path(playbook).stem, *arguments])
        with _signals_are_ansibles():
            runner.run()
        results = Path(note.read_text(encoding="utf-8")) if note.exists() else None
        if json and read and results is None and runner.rc:
            raise _refusal(Path(folder, "refused"))
        found = read(results) if read and results and is_results(results) else None
    return _status(runner.rc, results is not None), found


def _require_inventory(arguments: list[str]) -> None:
    """Require hosts that are named by inventories that are there: nobody wants a default's touched."""
    if not any(map(_INVENTORY.match, arguments)) and "ANSIBLE_INVENTORY" not in os.environ:
        local = paths.find_collection() / "inventories/local"
        here = f"; this machine alone is -i {shlex.quote(str(local))}" if local.exists() else ""
        verb = " ".join(takewhile(lambda word: not word.startswith("-") or word in _OURS, sys.argv[1:]))
        fix = f"type rekindle {verb} -i lease_hosts, your inventory{here}."
        raise Complaint("No inventory is named, and nothing is done for hosts that nobody named.", fix)
    for option, path in pairwise(arguments):
        if option in ("-i", "--inventory") and "," not in path and not Path(path).expanduser().exists():
            message = f"{path} is not there, so nothing would be done for its hosts."
            raise Complaint(message, "name an inventory that is there.")


def _require_utf8(arguments: list[str]) -> None:
    """Require of what ansible-runner writes down that it is UTF-8: arguments, variables and this folder."""
    words = [("this folder", str(Path.cwd())), *(("an argument", word) for word in arguments)]
    for what, text in (*words, *os.environ.items()):
        if text != text.encode(errors="replace").decode():
            fix = f"unset {what}." if what in os.environ else "name it otherwise, or by a link."
            raise Complaint(f"Ansible takes UTF-8 alone, and {what} is {text!a}.", fix)


def _refusal(refused: Path) -> Complaint:
    """Return why nothing began, by the callback's file, or else that Ansible has said it."""
    if refused.exists():
        message, _, fix = refused.read_text(encoding="utf-8").partition(FIX)
        return Complaint(message, fix)
    return Complaint("Nothing began, and Ansible has reported why.", "see standard error.")


def _environment(note: Path, words: list[str]) -> dict[str, str]:
    """Return the user's environment and ours; the callback writes the results' path to ``note``.

    ``words`` are those that run this play again.
    """
    environment = {
        **os.environ,
        "REKINDLE_TOLD": str(note),
        "REKINDLE_TYPED": shlex.join(["rekindle", *words]),
        "ANSIBLE_CONFIG": str(paths.find_collection() / "ansible.cfg"),
    }
    if locale.getlocale()[1] != "UTF-8":
        environment["LC_ALL"] = "C.UTF-8"  # else Ansible does not start
    return environment


def _forget_environment(status: dict[str, Any], runner_config: Any) -> None:
    """Remove ansible-runner's file of the environment, which may have secrets."""
    if status["status"] == "running":
        Path(runner_config.artifact_dir, "command").unlink()


@contextmanager
def _signals_are_ansibles() -> Iterator[None]:
    """Leave Ctrl-C to Ansible, which gets it from the terminal too; for SIGTERM, interrupt it likewise."""

    def end(*_: object) -> None:
        for child in psutil.Process().children():
            with suppress(psutil.NoSuchProcess):
                child.send_signal(signal.SIGINT)

    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: end}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _status(ended: int, began: bool) -> int:
    if ended == 0:
        return OK
    if ended < 0 or ended in _NO_ANSWER:
        return UNKNOWN
    if not began:
        return USAGE
    return FAILED if ended in _NOT_PROVEN else UNKNOWN
