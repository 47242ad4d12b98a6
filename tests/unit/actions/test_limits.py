# SPDX-License-Identifier: Apache-2.0
"""Every task that speaks to a host has a limit, and the limit holds on a host that answers no more."""

import errno
import os
import resource
import signal
import subprocess
import time

import psutil
import pytest
import yaml
from ansible.errors import AnsibleConnectionFailure
from jinja2 import Template
from runners.plays import OWN_PLAYBOOK, REPOSITORY

from rekindle.actions import limits
from rekindle.actions.limits import limit_action, limit_time

HERE = {"check_settings", "check_verdicts", "evaluate_acceptance", "make_plan"}
HERE |= {"judge_federation", "save_environments", "write_reports"}
"""Actions that ask nothing of the host."""
BUILTIN = {f"ansible.builtin.{name}" for name in ("include_tasks", "include_role", "import_role")}
FOLLOWS = "run_detached"
"""Has a limit for its start, one for each look, and one for all of them."""
WORDS = {
    "name",
    "when",
    "vars",
    "loop",
    "loop_control",
    "register",
    "environment",
    "changed_when",
    "timeout",
    "run_once",
    "no_log",
}
LONGEST_S = 7200


def _tasks(tasks):
    for task in tasks:
        if "block" in task:
            yield from _tasks(task["block"])
        else:
            yield task


ALL = [
    pytest.param(task, id=f"{path.relative_to(REPOSITORY / 'roles')} {task['name']}")
    for path in sorted(REPOSITORY.glob("roles/*/tasks/*.yml"))
    for task in _tasks(yaml.safe_load(path.read_text()))
]


def _action(task):
    (name,) = task.keys() - WORDS
    return name.removeprefix("rekindle.flare.")


@pytest.mark.parametrize("task", ALL)
def test_a_task_that_speaks_to_a_host_has_a_limit(task):
    name = _action(task)
    if name in HERE | BUILTIN:
        return
    source = (REPOSITORY / "plugins" / "action" / f"{name}.py").read_text()
    assert "\n@limit_action\n" in source
    assert name == FOLLOWS or all(0 < limit <= LONGEST_S for limit in _limits(task))


def _limits(task):
    """Return the seconds that a task has on a host, and on a login node of SLURM's."""
    template = Template(str(task["timeout"]))
    return [float(template.render(rekindle_slurm=slurm)) for slurm in ({}, {"partition": "gpu"})]


def test_every_action_is_one_or_the_other():
    actions = {path.stem for path in REPOSITORY.glob("plugins/action/*.py")}
    assert {_action(task.values[0]) for task in ALL} - BUILTIN == actions


SHELL = """#!/bin/sh
# A host whose disk hangs from the task's second command on.
echo >>"{folder}/asked"
[ "$(wc -l <"{folder}/asked")" -lt 2 ] || sleep 1000
exec /bin/sh "$@"
"""
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - rekindle.flare.copy_file: {src: %(source)s, dest: %(folder)s/there}
      timeout: 8
"""


def test_a_task_on_a_host_that_hangs_is_given_up_and_so_is_its_cleanup(tmp_path):
    (tmp_path / "shell").write_text(SHELL.format(folder=tmp_path))
    (tmp_path / "shell").chmod(0o700)
    (tmp_path / "play.yml").write_text(PLAY % {"folder": tmp_path, "source": __file__})
    limits = tmp_path / "sitecustomize.py"
    limits.write_text("import rekindle.actions.limits\nrekindle.actions.limits.CLEANUP_S = 2\n")
    variables = f"ansible_shell_executable={tmp_path}/shell ansible_remote_tmp={tmp_path}/tmp"
    playing = subprocess.Popen(
        [
            *("ansible-playbook", tmp_path / "play.yml", "-i", "here,", "-e", variables),
            *("-e", "ansible_connection=local ansible_python_interpreter=/usr/bin/python3"),
        ],
        cwd=tmp_path,
        env={**os.environ, **OWN_PLAYBOOK, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        printed, _ = playing.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        for process in [*psutil.Process(playing.pid).children(recursive=True), playing]:
            process.kill()
        raise
    assert "Timed out after 8 second" in printed
    assert (tmp_path / "asked").read_text().count("\n") == 3  # the folder, what hung, and its removal
    left = (process.info["cmdline"] for process in psutil.process_iter(["cmdline"]))
    assert [words for words in left if str(tmp_path) in str(words)] == []


def test_what_takes_longer_is_given_up_with_what_it_started():
    def wait():
        subprocess.Popen(["sleep", "1000"]).wait()

    with pytest.raises(TimeoutError, match=r"gave no answer within 0\.3 s"), limit_time(0.3):
        wait()
    assert not psutil.Process().children(recursive=True)


def test_what_is_in_time_is_left_in_peace():
    with limit_time(0.2):
        pass
    time.sleep(0.3)


def test_a_host_sets_no_variable_by_facts():
    python = {"discovered_interpreter_python": "/usr/bin/python3"}

    @limit_action
    class Task:
        _low_level_execute_command = None

        def run(self):
            return {"ansible_facts": {**python, "rekindle_root": "/etc"}, "stdout": "x"}

        def cleanup(self):
            pass

    assert Task().run() == {"ansible_facts": python, "stdout": "x"}


def test_an_answer_without_end_is_ended_before_it_fills_the_memory():
    reader = "yes $(head -c 1000 /dev/zero | tr '\\0' x)"

    def floods():
        process = subprocess.Popen(["sh", "-c", reader], stdout=subprocess.PIPE)
        kept = []
        while chunk := process.stdout.read(1 << 16):
            kept.append(chunk)

    before = psutil.Process().memory_info().rss
    with (
        pytest.raises(limits.Flood, match=r"The host sends more than 1 MiB as one answer\."),
        limits.limit_output(1 << 20),
    ):
        floods()
    assert psutil.Process().memory_info().rss - before < 512 << 20
    assert not [child for child in psutil.Process().children() if child.name() == "yes"]


def test_an_answer_that_was_read_and_is_too_long_is_refused():
    execute = limits.bound_execution(lambda command: {"stdout": "x" * (17 << 20), "stderr": ""})
    with pytest.raises(limits.Flood):
        execute("cat")
    assert limits.bound_execution(lambda command: {"stdout": "x", "stderr": ""})("cat")["stdout"] == "x"


def test_what_ssh_says_of_a_connection_that_failed_is_cut():
    def execute(command):
        raise AnsibleConnectionFailure("x" * 1_000_000)

    with pytest.raises(AnsibleConnectionFailure) as caught:
        limits.bound_execution(execute)("true")
    assert len(str(caught.value)) <= 4_000


def test_a_file_that_is_fetched_has_an_end(tmp_path):
    class Connection:
        def fetch_file(self, there, here):
            subprocess.run(["cp", there, here], check=True)

    (tmp_path / "large").write_bytes(bytes(1 << 21))
    with pytest.raises(subprocess.CalledProcessError):
        limits.fetch_file(Connection(), f"{tmp_path}/large", f"{tmp_path}/here", 1 << 20)
    assert (tmp_path / "here").stat().st_size <= 1 << 20
    limits.fetch_file(Connection(), f"{tmp_path}/large", f"{tmp_path}/here", 1 << 22)
    assert (tmp_path / "here").stat().st_size == 1 << 21


def test_a_file_without_end_ends_the_one_that_writes_it(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with limits.limit_files(1000):
        child = subprocess.run(["dd", "if=/dev/zero", f"of={tmp_path}/dd", "bs=600"], check=False, timeout=30)
        with pytest.raises(OSError, match="File too large") as error:
            (tmp_path / "own").write_bytes(bytes(5000))
    assert child.returncode == -signal.SIGXFSZ
    assert error.value.errno == errno.EFBIG
    assert {path.stat().st_size for path in tmp_path.iterdir()} == {1000}
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == before
    (tmp_path / "own").write_bytes(bytes(5000))
