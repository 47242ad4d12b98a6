# SPDX-License-Identifier: Apache-2.0
"""The watchdog's rules on runs made of snapshots, and one real run that it ends."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import msgspec
import pytest
from runners.toys import assert_gone, child_pid, toy, wait_for_end

from rekindle.driver.processes import find_descendants
from rekindle.driver.snapshot import Process, Snapshot, Times, list_living
from rekindle.driver.watchdog import Watchdog, measure_work
from rekindle.judge import judge_run
from rekindle.records import RunEnd, read_record
from rekindle.records.events import GpuSample
from rekindle.records.run import RunSpec

STOPS_ITS_TRAINER = """
import os, signal, subprocess, sys, time
environ = {**os.environ, "REKINDLE_SITE": "site-1"}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=environ)
open("child.pid", "w").write(str(child.pid))
os.kill(child.pid, signal.SIGSTOP)
time.sleep(600)
"""


def test_a_dead_run_is_ended_with_its_cause_and_an_autopsy(tmp_path):
    run, start = toy(tmp_path, STOPS_ITS_TRAINER)
    start()
    pid = child_pid(run)
    verdict = judge_run(wait_for_end(run))
    ended = read_record(run / "ended.json", RunEnd)
    assert (verdict.verdict, ended.reason) == ("HUNG", "hung")
    assert re.fullmatch(rf"Process {pid} \(site-1 .*\) is stopped \(SIGSTOP\) for \d+ s\.", ended.message)
    autopsy = {path.name: path.read_text() for path in (run / "autopsy").iterdir()}
    assert f"{pid} of " in autopsy["processes.txt"]
    assert f"Process {pid}" in autopsy["stacks.txt"]
    assert "MiB free" in autopsy["disk.txt"]
    assert "job.log" in autopsy["logs.txt"]
    assert_gone(pid)


SERVER, CLIENT, TRAINER = 10, 20, 30


class Story:
    """A run made of snapshots, with the test's clock and no real processes."""

    def __init__(self, spec):
        self.processes = {
            SERVER: Process(SERVER, "server", "S", nvflare="server", threads={SERVER: Times()}),
            CLIENT: Process(CLIENT, "site-1", "S", nvflare="site-1", threads={CLIENT: Times()}),
            TRAINER: Process(TRAINER, "site-1 client.py", "S", site="site-1", threads={31: Times()}),
        }
        self.at, self.said, self.ended = 0.0, 0, set()
        self.dog = Watchdog(spec, self._now(), lambda pid: pid in self.ended)

    def _now(self):
        return Snapshot(self.at, tuple(self.processes.values()), self.said)

    def change(self, pid, **fields):
        self.processes[pid] = replace(self.processes[pid], **fields)

    def after(  # noqa: PLR0913
        self, seconds, pid=TRAINER, *, ran=0.0, waited=0.0, slice_s=0.002, grown=0, gpus=None, **known
    ):
        """Let time pass, in which a process runs and waits for a CPU in these shares, and look."""
        self.at += seconds
        process = self.processes.get(pid)
        if process:
            times = {
                thread: Times(
                    then.ran + ran * seconds,
                    then.waited + waited * seconds,
                    then.slices + round(ran * seconds / slice_s),
                )
                for thread, then in process.threads.items()
            }
            self.change(pid, threads=times, memory_kib=process.memory_kib + grown)
        return self.dog.look(self._now(), gpus or {}, **known)

    def lasts(self, limit_s, **share):
        """Return after how many seconds of the same the run is reported dead, and the message."""
        began = self.at
        while self.at - began < limit_s:
            if message := self.after(5, **share):
                return self.at - began, message
        return None


@pytest.fixture
def story(clean_run):
    return Story(read_record(clean_run / "spec.json", RunSpec))


def _gpu(**figures):
    return {"GPU-1": GpuSample(**{"utilisation": 100, "used_mib": 900, "processes": {"7": 800}, **figures})}


def test_gpus_that_work_are_progress_and_gpus_that_wait_for_a_collective_are_not(story):
    assert story.lasts(600, gpus=_gpu(memory_utilisation=9)) is None
    assert story.lasts(600, gpus=_gpu(memory_utilisation=0, utilisation=4)) is None
    seconds, message = story.lasts(600, ran=1.0, gpus=_gpu(memory_utilisation=0))
    assert (seconds, "no activity of the GPUs" in message) == (65, True)


def test_a_trainer_that_gets_the_same_model_for_ever_is_silent_whatever_it_computes(story):
    for busy in ({"ran": 1.0}, {"ran": 1.0, "gpus": _gpu(memory_utilisation=9)}):
        turning = {**busy, "turning": "site-1 gets the same model at client.py:9", "starting": True}
        story.said += 1
        assert story.after(5, **turning) is None
        seconds, message = story.lasts(600, **turning)
        assert seconds == 65
        assert message == (
            "site-1 gets the same model at client.py:9 over and over, sends no result, "
            "and logs nothing new for 60 s."
        )
    assert story.lasts(300, ran=1.0) is None


def test_what_is_new_in_a_file_is_progress_and_the_silence_after_it_is_not(story):
    for said in range(9):
        story.said = said
        assert story.after(50) is None
    assert story.lasts(600)[0] == 65


@pytest.mark.parametrize(
    ("idle", "shares"),
    [
        ("on a quiet host", {"ran": 0.03, "waited": 0.01, "slice_s": 0.00005}),
        ("at load 20 on 2 cores", {"ran": 0.017, "waited": 0.24, "slice_s": 0.00005}),
        ("at a load far beyond", {"ran": 0.01, "waited": 0.97, "slice_s": 0.00005}),
        ("under a quota of 0.2 cores that others use up", {"ran": 0.003, "waited": 0.094}),
    ],
)
def test_a_run_that_only_polls_is_silent(story, idle, shares):
    seconds, message = story.lasts(600, **shares)
    assert seconds == 65, idle
    assert message == "Nothing has moved for 60 s: no log line, no evidence, no activity of the processes."


@pytest.mark.parametrize(("silence_s", "limit_s"), [(5, 20), (60, 240), (90, 240), (600, 600)])
def test_before_the_first_results_silence_has_minutes_and_has_an_end(clean_run, silence_s, limit_s):
    """A download or a first compilation shows nothing; a job's own limit holds, small or large."""
    spec = msgspec.structs.replace(read_record(clean_run / "spec.json", RunSpec), silence_s=silence_s)
    story = Story(spec)
    seconds, message = story.lasts(3000, starting=True)
    assert (seconds, message.split(":")[0]) == (limit_s + 5, f"Nothing has moved for {limit_s} s")


@pytest.mark.parametrize(
    ("work", "shares"),
    [
        ("under a quota of 0.2 cores", {"ran": 0.2, "waited": 0.8}),
        ("under it, with three others", {"ran": 0.05, "waited": 0.95}),
        ("at load 12", {"ran": 0.16, "waited": 0.8}),
        ("waiting for its disk too, and importing", {"ran": 0.1, "waited": 0.1, "grown": 40_000}),
        ("importing at a crawl", {"ran": 0.01, "waited": 0.1, "grown": 17_000}),
    ],
)
def test_work_on_a_slow_host_is_progress(story, work, shares):
    assert story.lasts(590, **shares) is None, work


def test_memory_that_leaks_or_comes_and_goes_is_no_progress(story):
    assert story.lasts(600, grown=7 << 10)[0] == 65
    assert story.after(5, grown=900_000) is None
    for _ in range(12):
        story.change(TRAINER, memory_kib=0)
        assert story.after(5, grown=90_000) is None
    assert story.after(5, grown=7000) is not None


def test_a_core_that_is_busy_with_nothing_to_show_for_it_is_no_progress_for_ever(story):
    seconds, message = story.lasts(7200, ran=1.0)
    assert 10 * 60 < seconds < 12 * 60
    assert message.startswith("Nothing has moved for 60 s: no log line, no evidence, and nothing came of 6")


def test_the_allowance_is_cpu_time_so_that_a_slow_host_has_longer(story):
    seconds, _ = story.lasts(7200, ran=0.2, waited=0.8)
    assert 5 * 10 * 60 < seconds < 6 * 10 * 60


def test_a_run_whose_rounds_take_long_is_given_longer(story):
    for said in range(1, 3):
        assert story.lasts(590, ran=1.0) is None
        story.said = said
    seconds, _ = story.lasts(7200, ran=1.0)
    assert 3 * 590 < seconds < 3 * 600 + 70


def test_one_process_in_d_state_is_named_unless_it_goes_on_between_our_looks(story):
    story.change(TRAINER, state="D")
    for _ in range(40):
        assert story.after(1, ran=0.001) is None
    story.said = 1
    assert [story.after(10) for _ in range(3)] == [None] * 3
    assert f"Process {TRAINER} (site-1 client.py) waits for the kernel (D state)" in story.after(10)


def test_a_stopped_process_is_named(story):
    story.change(CLIENT, state="T")
    assert [story.after(1) for _ in range(6)] == [None] * 6
    assert story.after(1) == f"Process {CLIENT} (site-1) is stopped (SIGSTOP) for 6 s."


def test_a_trainer_whose_main_thread_ended_is_named_unless_it_is_still_at_it(story):
    story.ended.add(TRAINER)
    assert story.lasts(60, ran=0.01, waited=0.99) is None
    message = story.lasts(60)[1]
    assert message.startswith(f"The main thread of process {TRAINER} (site-1 client.py) ended 20 s")


def test_a_client_that_nvflares_server_goes_on_without_is_named(story):
    assert [story.after(6) for _ in range(3)] == [None] * 3
    del story.processes[CLIENT]
    assert [story.after(6) for _ in range(3)] == [None] * 3
    assert story.after(6) == "NVFlare's client of site-1 ended 18 s ago and the job goes on without it."
    del story.processes[SERVER]
    assert story.after(6) is None


def test_a_server_that_is_slow_to_end_after_its_clients_waits_for_nobody(story):
    assert story.after(6) is None
    del story.processes[CLIENT]
    assert [story.after(6, SERVER, ran=0.05, waited=0.9) for _ in range(20)] == [None] * 20


def test_a_program_that_no_interpreter_runs_has_its_own_name():
    with subprocess.Popen(["sleep", "200"]) as child:
        try:
            now = Snapshot(0.0, list_living(find_descendants()))
        finally:
            child.kill()
    assert next(process.title for process in now.processes if process.pid == child.pid) == "sleep"


def test_a_snapshot_describes_this_tests_own_child():
    code = "import signal; signal.pause()"
    environ = {**os.environ, "REKINDLE_SITE": "site-1"}
    with subprocess.Popen([sys.executable, "-c", code, "client.py"], env=environ) as child:
        try:
            before = Snapshot(0.0, list_living(find_descendants()))
            os.kill(child.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, child.pid, os.WSTOPPED)
            now = Snapshot(1.0, list_living(find_descendants()))
        finally:
            child.kill()
    process = next(process for process in now.processes if process.pid == child.pid)
    assert (process.state, process.site, process.nvflare) == ("T", "site-1", None)
    assert process.title == f"site-1 {code}"
    assert 0 < process.memory_kib <= process.peak_kib
    assert list(process.threads) == [child.pid]
    assert measure_work(before, now)[None, child.pid].ran >= 0
