# SPDX-License-Identifier: Apache-2.0
"""What an autopsy writes down of the test's own children, and of what it cannot see."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from rekindle.doctor.diagnosis import diagnose_run
from rekindle.driver import autopsy as module
from rekindle.driver.autopsy import empty_folder, write_autopsy
from rekindle.driver.processes import find_descendants

STAYS = """
import socket, sys

def at_work():
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    sys.stdin.read()

at_work()
"""
QUESTIONS = {"processes", "stacks", "nvidia-smi", "ports", "disk", "kernel", "logs", "nccl"}


@pytest.fixture
def run(tmp_path):
    """Return a run's folder."""
    folder = tmp_path / "run"
    (folder / "evidence").mkdir(parents=True)
    return folder


@pytest.fixture
def child():
    """Return a child that listens on a port, and the port."""
    command = [sys.executable, "-c", STAYS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process, int(process.stdout.readline())
        process.communicate(timeout=30)


def _answers(run):
    write_autopsy(run, str(run), find_descendants())
    return {path.stem: path.read_text() for path in (run / "autopsy").glob("*.txt")}


def test_a_child_is_listed_with_its_stack_and_its_port(run, child):
    process, port = child
    answers = _answers(run)
    assert answers.keys() == QUESTIONS
    (line,) = [line for line in answers["processes"].splitlines() if line.startswith(f"{process.pid} of ")]
    assert line.startswith(f"{process.pid} of {os.getpid()} ")
    assert sys.executable in line
    assert "at_work" in answers["stacks"]
    assert f"{process.pid} LISTEN 127.0.0.1:{port} -" in answers["ports"].splitlines()
    assert f"{run}: " in answers["disk"]
    assert "/dev/shm: " in answers["disk"]
    assert answers["nccl"] == ""


def test_a_stopped_process_is_the_cause_that_the_doctor_finds_in_it(run, child):
    process, _ = child
    os.kill(process.pid, signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        _answers(run)
    finally:
        os.kill(process.pid, signal.SIGCONT)
    found = diagnose_run(run, failed=True).cause
    assert f"Process {process.pid} " in found.cause
    assert "stopped" in found.cause


def test_a_question_that_fails_leaves_its_reason_and_the_others_their_answers(run, monkeypatch, child):
    def refuse(pid):
        raise PermissionError("no ptrace")

    monkeypatch.setattr(module, "dump_stack", refuse)
    answers = _answers(run)
    assert answers["stacks"] == "PermissionError: no ptrace\n"
    assert answers.keys() == QUESTIONS
    assert f"{child[0].pid} of " in answers["processes"]


def test_a_command_that_is_not_there_or_hangs_is_reported(monkeypatch):
    assert module._command("no-such-command") == "no-such-command is not there."
    assert module._command("sh", "-c", "echo out; echo err >&2; exit 3") == "out\nerr\n"
    monkeypatch.setattr(module, "_LIMIT_S", 0.2)
    assert module._command("sleep", "600") == "sleep gave no answer within 0.2 s."


def test_the_last_lines_of_each_log_are_kept(run):
    site = run / "job" / "workspace" / "site-1" / "x"
    site.mkdir(parents=True)
    (site / "log.txt").write_text("".join(f"line {n}\n" for n in range(100)))
    (run / "job.log").write_bytes(b"\xff broken\n")
    lines = _answers(run)["logs"].splitlines()
    assert lines[0] == "== job/workspace/site-1/x/log.txt"
    assert lines[1:41] == [f"line {n}" for n in range(60, 100)]
    assert lines[42:] == ["== job.log", "\ufffd broken", ""]


@pytest.mark.parametrize("writes", [True, False])
def test_each_rank_is_asked_for_its_record_of_collectives(run, monkeypatch, writes):
    pipe = run / "evidence" / "nccl-0.pipe"
    os.mkfifo(pipe)
    rank, waited = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), []

    def reply(seconds):
        """Be torch's thread: read the pipe, and leave the record while the autopsy waits for it."""
        waited.append(seconds)
        assert os.read(rank, 9) == b"1"
        if writes:
            pipe.with_suffix("").write_bytes(b"record")

    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=reply))
    try:
        answer = _answers(run)["nccl"]
    finally:
        os.close(rank)
    assert waited == [3.0]
    assert answer == ("nccl-0: kept\n" if writes else "nccl-0: no answer\n")
    assert (run / "autopsy" / "nccl-0").exists() is writes
    assert not (run / "evidence" / "nccl-0").exists()


def test_a_rank_that_has_ended_gives_no_answer_and_nobody_waits_in_its_pipe(run, monkeypatch):
    monkeypatch.setattr(module, "_NCCL_DUMP_S", 0)
    os.mkfifo(run / "evidence" / "nccl-0.pipe")
    (run / "evidence" / "nccl-1.pipe").write_text("")
    (run / "evidence" / "nccl-2.pipe").symlink_to(run / "evidence" / "nccl-0.pipe")
    assert _answers(run)["nccl"] == "nccl-0: no answer\n"


@pytest.mark.parametrize("kind", ["file", "link", "nothing"])
def test_whatever_a_job_puts_in_its_place_is_removed(tmp_path, kind):
    other, folder = tmp_path / "other", tmp_path / "autopsy"
    other.mkdir()
    (other / "kept").touch()
    if kind == "file":
        folder.touch()
    if kind == "link":
        folder.symlink_to(other)
    empty_folder(folder)
    assert folder.is_dir()
    assert not folder.is_symlink()
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (other / "kept").exists()
