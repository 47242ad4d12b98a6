# SPDX-License-Identifier: Apache-2.0
"""The driver with a job in a real container, by Podman or Docker: what it sees of it, and what ends it."""

import json
import os
import subprocess
from contextlib import suppress

import psutil
import pytest
from lab.base import base
from lab.machine import alone
from runners.commands import capture_command
from runners.docker_daemon import daemon
from runners.own_jobs import supervisor
from runners.plays import REPOSITORY
from runners.podman import running
from runners.toys import toy
from runners.waits import until

from rekindle.host.leftovers import end_processes
from rekindle.host.leftovers import find_running as runs_of
from rekindle.hostfacts.engines import read_engines
from rekindle.hostfacts.frames import parse_frames
from rekindle.judge import judge_run
from rekindle.records import Container, Engine, Example, RunEnd, read_record
from rekindle.records.events import SampleEvent
from rekindle.records.evidence import read_lines

COLLECTOR = REPOSITORY / "roles/preflight/files/collect.sh"
IMAGE, EMPTY, NONCE = "localhost/base:1", "localhost/empty:1", "0123"
PRINTS = """
import json, os, resource, sys
print(json.dumps([dict(os.environ), os.getcwd(), sys.argv[1:], os.getuid(), os.getpid()]), flush=True)
"""
WORKS = """
import os, subprocess, sys, time
if sys.argv[1:] == ["site"]:
    while True:
        pass
environ = {**os.environ, "REKINDLE_SITE": "site-1"}
child = subprocess.Popen([sys.executable, __file__, "site"], env=environ, start_new_session=True)
open("child.pid", "w").write(str(child.pid))
time.sleep(float(os.environ["SECONDS"]))
"""
FILLS = """
import os
try:
    with open("fill", "wb") as stream:
        while True:
            stream.write(bytes(1 << 16))
except OSError:
    os.truncate("fill", 1 << 20)
    raise
"""


@pytest.fixture(scope="module", params=[running, daemon], ids=["podman", "docker"])
def engine(request, here, tmp_path_factory):
    """Return an engine with an image of Debian's, and one that has nothing."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "nothing").mkdir()
    with request.param(folder / "own") as engine:
        with alone("base"):
            engine.image(IMAGE, base())
        engine.image(EMPTY, folder / "nothing")
        yield engine


@pytest.fixture
def start(engine, tmp_path, monkeypatch):
    """Return what makes a run of a script in an image; it returns its folder, and what starts it."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of/the/host")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")

    def made(script, image=IMAGE, seconds=3, digest=None, **limits):
        run, start = toy(
            tmp_path,
            script,
            name="root/runs/toy",
            example=Example(command=("job.py",), environ={"SECONDS": str(seconds)}),
            container=Container(image=image),
            engine=Engine(name=engine.name, path=str(engine.path), version="4"),
            versions={"image id": digest or engine.digest(image)},
            **limits,
        )

        def go(**more):
            start(**more)
            return run

        return go

    return made


def _ended(run):
    until(lambda: not runs_of(run.parents[1]), what="the run goes on")
    return read_record(run / "ended.json", RunEnd)


def _child(run):
    path = run / "job" / "child.pid"
    until(lambda: path.exists() and path.read_text(), what="the job does not work")
    return psutil.Process(int(path.read_text()))


def _gone(process):
    with suppress(psutil.NoSuchProcess):
        process.wait(timeout=10)
    return not process.is_running()


@pytest.mark.parametrize(
    ("user", "lack"), [("0", None), ("65534", "it has no subordinate ids in /etc/subuid")]
)
def test_preflight_finds_podman_and_whether_its_user_can_run_containers(here, tmp_path, user, lack):
    words = ["setpriv", f"--reuid={user}", "--clear-groups", "sh", "-s", "--", NONCE, "/none", "/tmp", "20"]
    with running(tmp_path / "podman"):
        done = capture_command(
            [*words, "podman", "containers"],
            stdin=COLLECTOR.open(),
            env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
            check=True,
        )
    (engine,) = read_engines(parse_frames(done.stdout, NONCE))
    version = subprocess.check_output(["podman", "--version"], text=True).split()[-1]
    assert (engine.title, engine.message) == (f"Podman {version}", lack)


def test_it_has_our_variables_and_none_of_the_hosts_and_its_paths_are_the_hosts(start, engine):
    run = start(PRINTS)()
    assert _ended(run).exit_status == 0, (run / "job.log").read_text()
    (printed,) = (run / "job.log").read_text().splitlines()[:1]
    environ, folder, words, user, _ = json.loads(printed)
    assert (folder, words, user) == (str(run / "job"), [], os.getuid())
    assert environ["REKINDLE_EVIDENCE"] == str(run / "evidence")
    assert environ["PYTHONPATH"].startswith(f"{run}/hook:")
    assert (environ["NCCL_DEBUG"], environ["SECONDS"]) == ("INFO", "3")
    assert environ["HOME"] == environ["TMPDIR"] == str(run.parents[1] / "tmp")
    assert "LD_LIBRARY_PATH" not in environ
    assert engine.containers() == []


def test_the_driver_sees_its_processes_by_their_pids_and_ends_those_that_it_left(start):
    run = start(WORKS, seconds=6)()
    child = _child(run)
    assert child.environ()["REKINDLE_SITE"] == "site-1"
    assert _ended(run).reason == "finished"
    assert _gone(child)
    samples = [line.event for line in read_lines(run) if isinstance(line.event, SampleEvent)]
    worked = [sample.worked["site-1"] for sample in samples if "site-1" in sample.worked]
    assert max(each.others_s for each in worked) > 0
    assert child.pid in {pid for each in worked for pid in each.pids}


def test_one_at_its_limit_is_killed_and_removed(start, engine):
    run = start(WORKS, seconds=600, limit_s=5)()
    child = _child(run)
    assert _ended(run).reason == "limit"
    assert judge_run(run).verdict == "HUNG"
    assert _gone(child)
    assert engine.containers() == []


def test_one_that_hangs_has_its_stacks_taken_and_is_removed(start, engine):
    run = start("import time\ntime.sleep(600)\n", silence_s=5)()
    assert _ended(run).reason == "hung"
    assert judge_run(run).verdict == "HUNG"
    taken = "\n".join(path.read_text() for path in (run / "autopsy").rglob("*") if path.is_file())
    assert "<module> (job.py:2)" in taken, taken
    assert engine.containers() == []


def test_one_that_is_killed_from_outside_is_a_failure_with_its_status(start, engine):
    run = start(WORKS, seconds=600)()
    child = _child(run)
    (name,) = engine.containers()
    engine.ask("kill", name)
    ended = _ended(run)
    assert (ended.reason, ended.exit_status) == ("finished", 137)
    verdict = judge_run(run)
    assert verdict.verdict == "FAIL"
    assert "137" in verdict.cause
    assert _gone(child)


def test_one_that_a_killed_driver_left_ends_before_the_runs_next_start(start, engine):
    go = start(WORKS, seconds=600, limit_s=8)
    run = go()
    left = _child(run)
    supervisor(run).kill()
    until(lambda: not runs_of(run.parents[1]), what="the supervisor goes on")
    assert left.is_running()
    assert len(engine.containers()) == 1
    go(nonce="another nonce")
    assert _gone(left)
    assert _ended(run).reason == "limit"
    assert engine.containers() == []


def test_one_that_a_killed_driver_left_ends_as_its_host_is_retired(start, engine):
    run = start(WORKS, seconds=600)()
    left = _child(run)
    supervisor(run).kill()
    until(lambda: not runs_of(run.parents[1]), what="the supervisor goes on")
    assert left.is_running()
    end_processes(run.parents[1])
    assert _gone(left)
    assert engine.containers() == []


def test_an_image_that_is_gone_is_named(start):
    run = start(PRINTS, digest=f"sha256:{'0' * 64}")()
    assert _ended(run).exit_status == 125
    verdict = judge_run(run)
    assert verdict.findings[0].name == "image_gone"
    assert verdict.verdict == "FAIL"


def test_an_image_without_python_is_named(start):
    run = start(PRINTS, image=EMPTY)()
    assert _ended(run).exit_status == 127
    verdict = judge_run(run)
    assert verdict.verdict == "FAIL"
    assert verdict.cause.startswith("The image that the job runs in has no python3")


def test_a_job_that_fills_its_disk_from_inside_has_a_verdict(start, engine, tmp_path):
    (tmp_path / "root").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", tmp_path / "root"]
    subprocess.run(mount, check=True)
    try:
        run = start(FILLS)()
        _ended(run)  # by the job, or by a driver that can write no sample in that moment
        verdict = judge_run(run)
        assert verdict.verdict == "FAIL"
        findings = [finding.cause for finding in verdict.findings]
        assert "disk is full" in f"{findings}" or "No space left on device" in verdict.cause
        assert engine.containers() == []
    finally:
        subprocess.run(["umount", tmp_path / "root"], check=True)
