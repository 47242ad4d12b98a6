"""The action follow under a real ansible-playbook, on a record and a lock that the test writes and holds."""

import fcntl
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import msgspec
import pytest

from rekindle.records import Progress, write

ACTIONS = Path(__file__).parents[2] / "plugins" / "action"
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - follow:
        progress: "{{ folder }}/progress.json"
        lock: "{{ folder }}/lock"
        python: "{{ ansible_playbook_python }}"
        what: toy
        limit_s: 60
        lease_ends: ""
        budget: "{{ budget | default('') }}"
"""


@pytest.fixture
def follow(tmp_path):
    """Start a play that follows; returns its process, whose output can be read."""
    (tmp_path / "play.yml").write_text(PLAY)
    running = []

    def start(**variables):
        extra = msgspec.json.encode({"folder": str(tmp_path), **variables}).decode()
        environ = {
            **os.environ,
            "ANSIBLE_ACTION_PLUGINS": str(ACTIONS),
            "ANSIBLE_NOCOLOR": "1",
            "REKINDLE_STARTED": datetime.now(timezone.utc).isoformat(),
        }
        playbook = Path(sys.executable).with_name("ansible-playbook")
        running.append(
            subprocess.Popen(
                [playbook, tmp_path / "play.yml", "-i", "somewhere,", "-e", extra],
                cwd=tmp_path,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@contextmanager
def writer(folder, state="running"):
    """Hold the lock, as who writes the record does for as long as it lives."""
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        tell(folder, state)
        yield


def tell(folder, state):
    write(folder / "progress.json", Progress(state=state, says="round 2/3, loss 0.05", elapsed_s=7))


def said_by(process):
    output, _ = process.communicate(timeout=30)
    return process.returncode, " ".join(output.replace("\\n", " ").split())


LOCAL = {"ansible_connection": "local"}


def test_what_ends_while_it_is_followed_is_followed_to_its_end(follow, tmp_path):
    with writer(tmp_path):
        process = follow(**LOCAL)
        assert any("somewhere toy: round 2/3, loss 0.05, 7 s" in line for line in process.stdout)
        assert process.poll() is None
        tell(tmp_path, "ended")
        assert said_by(process)[0] == 0


def test_what_had_ended_before_its_writer_did_has_ended(follow, tmp_path):
    with writer(tmp_path, "ended"):
        pass
    assert said_by(follow(**LOCAL))[0] == 0


def test_what_was_killed_is_not_waited_for(follow, tmp_path):
    with writer(tmp_path):
        pass
    began = time.monotonic()
    status, said = said_by(follow(**LOCAL))
    assert status != 0
    assert re.search(r"toy was killed before .*\(last seen at round 2/3, loss 0\.05, 7 s\)\. Fix: run ", said)
    assert time.monotonic() - began < 20


def test_what_was_killed_before_it_said_anything_is_not_waited_for(follow):
    status, said = said_by(follow(**LOCAL))
    assert status != 0
    assert re.search(r"toy was killed before .*\(never seen\)\. Fix: run ", said)


def test_a_host_that_is_gone_when_its_lease_has_ended_is_given_up(follow):
    status, said = said_by(
        follow(ansible_host="127.0.0.1", ansible_port=1, ansible_connection="ssh", budget="0s")
    )
    assert status == 4
    assert "toy was never seen; the host is gone: " in said
