"""A run in a container, by a stand-in for Docker whose containers are none of the driver's own processes."""

import json
import os
import sys

import msgspec
import psutil
import pytest
from engine import running
from test_driver import _assert_gone, _start, _supervisor, _wait_for, _wait_for_end
from test_ladder import spec  # noqa: F401 - a fixture

from rekindle.driver import command
from rekindle.driver.container import Container
from rekindle.records import Container as Described
from rekindle.records import Ended, Example, Site, VerdictRecord, read
from rekindle.records.events import SampleEvent
from rekindle.records.evidence import read_lines
from rekindle.trainer.example import _gpus

IMAGE = "registry.example/line:1"
TELLS = """
import json, os, sys
print(json.dumps([dict(os.environ), os.getcwd(), sys.argv[1:]]))
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


@pytest.fixture
def engine(tmp_path):
    with running(tmp_path / "bin") as engine:
        engine.images[IMAGE] = sys.executable
        yield engine


@pytest.fixture
def start(engine, tmp_path, monkeypatch):
    """Start the driver on a job.py that runs in the image; returns its folder."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of/the/host")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")

    def started(script, image=IMAGE, seconds=3, **limits):
        environ = {"SECONDS": str(seconds)}
        example = Example(command=("job.py", "{gpus}"), container=Described(image=image), environ=environ)
        if script is WORKS:
            example = msgspec.structs.replace(example, command=("job.py",))
        docker = str(engine.docker)
        run, go = _start(tmp_path, script, example=example, docker=docker, name="run", **limits)
        return run, lambda: go(nonce="0123")

    return started


def test_it_has_our_variables_and_none_of_the_hosts_and_its_paths_are_the_hosts(start, tmp_path, engine):
    run, go = start(TELLS)
    go()
    _wait_for_end(run)
    environ, folder, words = json.loads((run / "job.log").read_text().splitlines()[0])
    assert (folder, words) == (str(run / "job"), ["[0]"])
    assert environ["REKINDLE_EVIDENCE"] == str(run / "evidence")
    assert environ["PYTHONPATH"].startswith(f"{run}/hook:")
    assert (environ["NCCL_DEBUG"], environ["SECONDS"], environ["HOME"]) == ("INFO", "3", str(tmp_path))
    assert "LD_LIBRARY_PATH" not in environ
    assert read(run / "ended.json", Ended).exit_status == 0


def test_its_processes_are_seen_though_they_are_none_of_the_drivers(start):
    run, go = start(WORKS)
    go()
    child = psutil.Process(int(_wait_for(run / "job" / "child.pid").read_text()))
    assert _supervisor(run) not in child.parents()
    _assert_ended_with_all(run, child)
    samples = [line.event for line in read_lines(run) if isinstance(line.event, SampleEvent)]
    assert max(sample.worked["site-1"].others_s for sample in samples if "site-1" in sample.worked) > 0
    assert read(run / "ended.json", Ended).reason == "finished"


def _assert_ended_with_all(run, child):
    _wait_for_end(run)
    _assert_gone(child.pid)


def test_a_process_of_the_engines_number_that_is_another_is_none_of_the_runs(start, engine):
    engine.first_pid = os.getpid()  # above them all, as if the engine counted other processes
    run, go = start(WORKS)
    go()
    child = psutil.Process(int(_wait_for(run / "job" / "child.pid").read_text()))
    _assert_ended_with_all(run, child)
    samples = [line.event for line in read_lines(run) if isinstance(line.event, SampleEvent)]
    assert samples
    assert all(sample.worked == {} for sample in samples)


def test_its_gpus_are_given_by_uuid_and_counted_anew_inside(spec, tmp_path):  # noqa: F811
    example = Example(command=("job.py",), container=Described(image=IMAGE))
    sites = (
        Site(name="site-1", ranks=1, gpus=("GPU-c",)),
        Site(name="site-2", ranks=2, gpus=("GPU-f", "GPU-c")),
    )
    job = msgspec.structs.replace(spec.job, example=example)
    of_both = msgspec.structs.replace(spec, job=job, sites=sites, nonce="0123")
    environ = command.environment(tmp_path, of_both)
    words = Container(of_both, "/usr/bin/docker").command(["python", "-m", "this"], tmp_path, environ)
    assert words[words.index("--gpus") + 1] == '"device=GPU-c,GPU-f"'
    assert words[-4:] == [IMAGE, "python3", "-m", "this"]
    assert "0123" not in [word.partition("=")[2] for word in words]
    told = {
        "docker": "/usr/bin/docker",
        "gpus": [{"uuid": "GPU-c", "index": 2}, {"uuid": "GPU-f", "index": 5}],
    }
    told["sites"] = [{"gpus": list(site.gpus), "ranks": site.ranks} for site in sites]
    assert _gpus(told) == "[0],[1,0]"
    assert _gpus({**told, "docker": None}) == "[2],[5,2]"


def test_a_container_at_its_limit_is_killed(start, engine):
    run, go = start(WORKS, seconds=600, limit_s=10)
    go()
    child = psutil.Process(int(_wait_for(run / "job" / "child.pid").read_text()))
    _assert_ended_with_all(run, child)
    assert read(run / "ended.json", Ended).reason == "limit"
    assert read(run / "verdict.json", VerdictRecord).verdict != "PASS"
    assert ["rm", "--force", "rekindle-0123"] in engine.asked[-2:]
    assert engine.containers == {}


def test_what_a_killed_supervisor_left_in_a_container_ends_before_the_next_run(start, engine):
    run, go = start(WORKS, seconds=600, limit_s=8)
    go()
    first = psutil.Process(int(_wait_for(run / "job" / "child.pid").read_text()))
    _supervisor(run).kill()
    _wait_for_end(run)
    assert first.is_running()
    go()
    _assert_gone(first.pid)
    _wait_for_end(run)


def test_an_image_that_is_gone_is_no_pass_and_the_engines_words_are_in_the_log(start):
    run, go = start(TELLS, image="registry.example/gone:1")
    go()
    _wait_for_end(run)
    assert "No such image: registry.example/gone:1" in (run / "job.log").read_text()
    assert read(run / "verdict.json", VerdictRecord).verdict == "FAIL"
    assert read(run / "ended.json", Ended).exit_status == 1
