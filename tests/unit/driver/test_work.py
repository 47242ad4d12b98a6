# SPDX-License-Identifier: Apache-2.0
"""CPU time by server and site: of NVFlare's processes, of what descends from them, and of what has ended."""

import os
import subprocess
import sys

import msgspec

from rekindle.driver.processes import find_descendants
from rekindle.driver.sampler import Sampler, WorkTotals
from rekindle.driver.snapshot import Process, Snapshot, list_living
from rekindle.records.events import MemberWork, SampleEvent

HELD_MIB = 64
TAKES_AND_GIVES_BACK = f"""
import sys
block = b"x" * ({HELD_MIB} << 20)
del block
print(flush=True)
sys.stdin.read()
"""
SIMULATOR = "nvflare.private.fed.app.simulator.simulator"
TRAINS = """
import subprocess, sys
BURNS = "import time\\nwhile time.process_time() < 0.3: pass\\nprint(flush=True)\\ninput()"
trainer = subprocess.Popen([sys.executable, "-c", BURNS], stdin=sys.stdin, stdout=subprocess.PIPE)
trainer.stdout.readline()
print(flush=True)
trainer.wait()
"""


def _process(pid, parent, cpu_s, **more):
    return Process(pid, "x", "S", parent=parent, cpu_s=cpu_s, **more)


JOB = _process(1, 0, 5.0)
SERVER = _process(2, 1, 3.0, nvflare="server")
CLIENT = _process(3, 2, 2.0, nvflare="site-1")
LAUNCHER = _process(4, 3, 0.5)
RANK = _process(5, 4, 7.0)


def test_a_process_is_of_the_nearest_member_above_it():
    assert WorkTotals().add_up([RANK, JOB, SERVER, LAUNCHER, CLIENT]) == {
        "server": MemberWork(nvflare_s=3.0, others_s=None, pids=(2,)),
        "site-1": MemberWork(nvflare_s=2.0, others_s=7.5, pids=(3, 4, 5)),
    }


def test_what_ended_counts_and_an_orphan_stays_where_it_was():
    work = WorkTotals()
    work.add_up([SERVER, CLIENT, LAUNCHER, RANK])
    orphan = _process(5, 0, 8.0)
    assert work.add_up([SERVER, CLIENT, orphan])["site-1"] == MemberWork(
        nvflare_s=2.0, others_s=8.5, pids=(3, 5)
    )
    assert work.add_up([])["site-1"] == MemberWork(nvflare_s=2.0, others_s=8.5, pids=())


def test_another_process_of_a_pid_is_another():
    work = WorkTotals()
    work.add_up([SERVER, CLIENT])
    stranger = _process(3, 1, 1.0, born=9.0)
    assert work.add_up([SERVER, stranger])["site-1"] == MemberWork(nvflare_s=2.0, others_s=None, pids=())


def test_a_fork_of_the_server_is_the_clients_as_soon_as_it_has_its_name():
    work = WorkTotals()
    assert work.add_up([SERVER, _process(3, 2, 0.5, nvflare="server")])["server"].nvflare_s == 3.5
    worked = work.add_up([SERVER, CLIENT])
    assert (worked["server"].nvflare_s, worked["site-1"].nvflare_s) == (3.0, 2.0)


def test_a_circle_of_parents_ends():
    assert WorkTotals().add_up([_process(7, 8, 1.0), _process(8, 7, 1.0)]) == {}


def test_a_sample_has_what_real_processes_took(child, tmp_path):
    client = child(TRAINS, "-m", f"{SIMULATOR}_worker", "--client", "site-2")
    Sampler(tmp_path / "samples.jsonl", set()).sample(Snapshot(0.0, list_living(find_descendants())))
    event = msgspec.json.decode((tmp_path / "samples.jsonl").read_bytes(), type=SampleEvent)
    worked = event.worked["site-2"]
    assert worked.others_s >= 0.29
    assert worked.nvflare_s < worked.others_s
    assert client in worked.pids
    assert len(worked.pids) == 2


def test_peaks_are_by_name_in_mib_and_the_larger_of_two():
    peaks = (("server", 2047), ("site-1", 5 << 10), ("site-1", 3 << 10), (None, 9 << 20))
    processes = tuple(
        Process(pid, "x", "S", nvflare=name, peak_kib=peak) for pid, (name, peak) in enumerate(peaks, 1)
    )
    assert Snapshot(0.0, processes).peaks_mib == {"server": 1, "site-1": 5}


def test_what_was_held_for_a_moment_is_reported_afterwards(child):
    server = child(TAKES_AND_GIVES_BACK, "-m", SIMULATOR)
    client = child(TAKES_AND_GIVES_BACK, "-m", f"{SIMULATOR}_worker", "--client", "site-2")
    other = child(TAKES_AND_GIVES_BACK, "client.py")
    now = Snapshot(0.0, list_living(find_descendants()))
    assert set(now.peaks_mib) == {"server", "site-2"}
    for name, pid in (("server", server), ("site-2", client)):
        (process,) = [process for process in now.processes if process.pid == pid]
        assert process.nvflare == name
        assert HELD_MIB <= now.peaks_mib[name] == process.peak_kib >> 10
        assert process.memory_kib >> 10 < process.peak_kib >> 10
    assert [process.nvflare for process in now.processes if process.pid == other] == [None]


def test_what_has_ended_is_not_listed():
    with subprocess.Popen([sys.executable, "-c", "", "-m", SIMULATOR]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert Snapshot(0.0, list_living(find_descendants())).peaks_mib == {}
