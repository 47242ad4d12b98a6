"""The host memory of NVFlare's processes, by the kernel's own count, and of no others."""

import os
import subprocess
import sys

from rekindle.driver.snapshot import Process, Snapshot, snapshot

HELD_MIB = 64
TAKES_AND_GIVES_BACK = f"""
import sys
block = b"x" * ({HELD_MIB} << 20)
del block
print(flush=True)
sys.stdin.read()
"""
SIMULATOR = "nvflare.private.fed.app.simulator.simulator"


def _process(pid, nvflare, peak_kib):
    return Process(pid, "x", "S", nvflare=nvflare, peak_kib=peak_kib)


def test_each_is_told_by_its_name_in_whole_mib():
    processes = (_process(1, "server", 2047), _process(2, "site-1", 5 << 10), _process(3, None, 9 << 20))
    assert Snapshot(0.0, processes).peaks_mib == {"server": 1, "site-1": 5}


def test_of_two_of_one_name_the_larger_counts():
    for peaks in ((3, 8), (8, 3)):
        processes = tuple(_process(pid, "site-1", peak << 10) for pid, peak in enumerate(peaks))
        assert Snapshot(0.0, processes).peaks_mib == {"site-1": 8}


def test_without_processes_nothing_is_told():
    assert Snapshot(0.0).peaks_mib == {}


def test_what_was_held_for_a_moment_is_told_afterwards(tmp_path, child):
    server = child(TAKES_AND_GIVES_BACK, "-m", SIMULATOR)
    client = child(TAKES_AND_GIVES_BACK, "-m", f"{SIMULATOR}_worker", "--client", "site-2")
    other = child(TAKES_AND_GIVES_BACK, "client.py")
    now = snapshot(tmp_path)
    assert set(now.peaks_mib) == {"server", "site-2"}
    for name, pid in (("server", server), ("site-2", client)):
        (process,) = [process for process in now.processes if process.pid == pid]
        assert process.nvflare == name
        assert HELD_MIB <= now.peaks_mib[name] == process.peak_kib >> 10
        assert process.memory_kib >> 10 < process.peak_kib >> 10
    assert [process.nvflare for process in now.processes if process.pid == other] == [None]


def test_what_has_ended_is_told_no_more(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "", "-m", SIMULATOR]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert snapshot(tmp_path).peaks_mib == {}
