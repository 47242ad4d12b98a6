# SPDX-License-Identifier: Apache-2.0
"""Python stacks of the test's own child processes, and of processes that have none."""

import subprocess
import sys

import pytest

from rekindle.driver import processes as stacks

AT_WORK = """
import sys, threading

def kept_waiting():
    print(flush=True)
    sys.stdin.read()

kept_waiting()
"""
RAN_OUT = """
import sys, threading

def outlives_main():
    threading.main_thread().join()
    print(flush=True)
    sys.stdin.read()

threading.Thread(target=outlives_main).start()
"""


def test_the_stack_of_a_process_names_its_functions(child):
    report = stacks.dump_stack(child(AT_WORK))
    assert "kept_waiting" in report
    assert '"MainThread"' in report


def test_a_main_thread_that_only_waits_for_another_has_ended(child):
    assert stacks.has_main_thread_ended(child(RAN_OUT)) is True


def test_a_process_that_ended_has_py_spys_error_and_has_not_ended_its_main_thread():
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(timeout=60)
    report = stacks.dump_stack(ended.pid)
    assert report.startswith(f"Process {ended.pid}: ")
    assert len(report.splitlines()) == 1
    assert len(report) > len(f"Process {ended.pid}: ")
    assert stacks.has_main_thread_ended(ended.pid) is False


def test_a_py_spy_that_hangs_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "py-spy").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "py-spy").chmod(0o700)
    monkeypatch.setattr(stacks.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(stacks, "_LIMIT_S", 0.2)
    assert stacks.dump_stack(1) == "Process 1: py-spy got no answer within 0.2 s."
    assert stacks.has_main_thread_ended(1) is False


def _dump(*threads):
    return "Process 7: python\n" + "\n".join(
        f'Thread {number} (idle): "{name}"\n    {frame}' for number, (name, frame) in enumerate(threads)
    )


ENDING = "_shutdown (threading.py:1601)"
POOL_ENDING = "_python_exit (concurrent/futures/thread.py:31)"
WORKS = ("MainThread", "train (client.py:9)")


@pytest.mark.parametrize(
    ("threads", "ended"),
    [
        ([("MainThread", POOL_ENDING), ("Thread-1", "run (x.py:1)")], True),
        ([WORKS, ("Thread-1", ENDING)], False),
        ([("Thread-1", ENDING)], False),
    ],
)
def test_the_end_is_known_by_the_main_threads_frames_alone(monkeypatch, threads, ended):
    monkeypatch.setattr(stacks, "dump_stack", lambda pid: _dump(*threads))
    assert stacks.has_main_thread_ended(7) is ended
