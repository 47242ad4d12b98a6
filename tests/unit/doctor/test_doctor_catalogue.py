# SPDX-License-Identifier: Apache-2.0
"""Every entry on its excerpt, on all recorded runs that passed, and on hostile input."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from samples.excerpts import EXCERPTS

from rekindle.doctor import diagnose_texts, texts
from rekindle.doctor.catalogue import load_catalogue

RECORDINGS = Path(__file__).parents[2] / "recordings"
ENTRIES = {entry.name: entry for entry in load_catalogue()}
AROUND = "2026-11-21 02:00:00,000 - INFO - before\n{}\n2026-11-21 02:00:01,000 - INFO - after\n"


@pytest.fixture(scope="module")
def clean_texts():
    """Return all logs of the recorded runs that went well."""
    found = [texts.read_text(path, path.name) for path in texts.find_logs(RECORDINGS / "runs")]
    return [*found, *(texts.read_text(path, path.name) for path in RECORDINGS.glob("nvflare-*-pass.log"))]


def test_names_are_used_once_and_each_has_its_excerpt():
    assert len(ENTRIES) == len(load_catalogue())
    assert ENTRIES.keys() == EXCERPTS.keys()


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_the_first_to_match_its_excerpt_and_fills_its_sentences(name):
    entry = ENTRIES[name]
    found = diagnose_texts(
        [texts.decode_text("log.txt", AROUND.format(EXCERPTS[entry.name].excerpt).encode())]
    ).findings
    first = next(finding for finding in found if finding.echo == (entry.rank == "echo"))
    assert first.name == name
    assert first.layer == entry.layer
    assert first.remedy == entry.remedy
    assert 2 <= first.line <= 1 + len(EXCERPTS[entry.name].excerpt.splitlines())
    assert re.fullmatch(r"[^{}\n]+", first.cause)
    assert entry.remedy.endswith(".")
    prefix = "2026-11-20 20:45:34,220 - SubprocessLauncher - INFO - "
    excerpt = "\n".join(prefix + line for line in EXCERPTS[entry.name].excerpt.splitlines())
    found = diagnose_texts([texts.decode_text("log.txt", f"{prefix}before\n{excerpt}\n".encode())]).findings
    assert name in [finding.name for finding in found]


@pytest.mark.parametrize("name", ENTRIES)
def test_what_is_not_the_jobs_own_is_confirmed_by_a_command_that_a_shell_reads(name):
    entry = ENTRIES[name]
    if entry.layer in ("host", "driver", "environment", "network"):
        assert bool(entry.confirm) != bool(EXCERPTS[name].unconfirmed)
    (found, *_) = diagnose_texts(
        [texts.decode_text("log.txt", AROUND.format(EXCERPTS[entry.name].excerpt).encode())]
    ).findings
    assert bool(entry.confirm) == bool(entry.command(entry.expression.search(EXCERPTS[entry.name].excerpt)))
    if entry.confirm and found.name == name:
        assert subprocess.run(["bash", "-nc", found.confirm], check=False).returncode == 0
        assert not re.search(r"(?<!\$)\{\w+\}", found.confirm)


def test_a_log_puts_no_command_of_its_own_into_what_is_to_be_typed():
    log = b"/tmp/$(id);x: failed to map segment from shared object\n"
    (found,) = diagnose_texts([texts.decode_text("log.txt", log)]).findings
    assert found.confirm == "findmnt -no OPTIONS -T '/tmp/$(id);x'"


PREFIXES = {
    "docker compose": lambda number, line: f"worker-1  | {line}",
    "srun": lambda number, line: f" 3: {line}",
    "torchrun": lambda number, line: f"[rank3]: {line}",
    "mpirun": lambda number, line: f"[1,3]<stderr>: {line}",
    "kubectl": lambda number, line: f"2026-11-21T02:00:{number % 60:02}.123456789Z {line}",
    "CRI": lambda number, line: f"2026-11-21T02:00:00.123456789+01:00 stderr F {line}",
    "syslog": lambda number, line: f"Nov 21 02:00:00 gpu-1 trainer[4711]: {line}",
    "Docker's JSON": lambda number, line: json.dumps(
        {"log": f"\x1b[31m{line}\x1b[0m\n", "stream": "stderr", "time": "2026-11-21T02:00:00Z"},
        separators=(",", ":"),
    ),
    "a rank in a container": lambda number, line: f"worker-1  | [rank0]: {line}",
}
"""What collectors of logs put before each line, by its number."""


@pytest.mark.parametrize("collector", PREFIXES)
def test_a_prefix_on_every_line_changes_no_answer(collector):
    other = []
    for name, entry in ENTRIES.items():
        lines = AROUND.format(EXCERPTS[entry.name].excerpt).splitlines()
        put = "\n".join(PREFIXES[collector](number, line) for number, line in enumerate(lines))
        alone, prefixed = (
            diagnose_texts([texts.decode_text("log.txt", text.encode())]).findings
            for text in ("\n".join(lines), put)
        )
        if prefixed != alone:
            other.append(name)
    assert other == []


HEALTHY = {"srun": " 2: ", "torchrun": "[rank2]: ", "mpirun": "[1,2]<stderr>: "}


@pytest.mark.parametrize("collector", HEALTHY)
def test_a_healthy_rank_between_all_lines_changes_no_answer(collector):
    other = []
    for name, entry in ENTRIES.items():
        lines = AROUND.format(EXCERPTS[entry.name].excerpt).splitlines()
        put = [PREFIXES[collector](number, line) for number, line in enumerate(lines)]
        between = "\n".join(f"{line}\n{HEALTHY[collector]}alive" for line in put)
        alone, mixed = (
            diagnose_texts([texts.decode_text("log.txt", text.encode())]).findings
            for text in ("\n".join(put), between)
        )
        if [(one.cause, one.line) for one in mixed] != [(one.cause, 2 * one.line - 1) for one in alone]:
            other.append(name)
    assert other == []


def test_what_few_lines_begin_with_is_no_prefix():
    text = "\n".join([*("7: seen" for _ in range(8)), "plain", "8 lines of 10"])
    assert texts.decode_text("log.txt", text.encode()).body == text


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_silent_on_every_clean_run(name, clean_texts):
    assert len(clean_texts) > 30
    assert not [text.file for text in clean_texts if ENTRIES[name].expression.search(text.body)]


@pytest.mark.parametrize("name", [name for name, of in EXCERPTS.items() if of.twin])
def test_a_line_of_a_good_run_that_looks_alike_is_no_failure(name):
    twin = AROUND.format(EXCERPTS[name].twin)
    assert not ENTRIES[name].expression.search(twin)
    assert name not in [
        finding.name for finding in diagnose_texts([texts.decode_text("log.txt", twin.encode())]).findings
    ]


def test_a_task_that_is_left_as_the_server_ends_the_run_is_no_failure():
    left = AROUND.format(EXCERPTS["run_ended_in_mid_task"].excerpt)
    ended = (
        "2026-11-20 21:33:53,760 - ClientRunner - INFO - received request from Server to end current RUN\n"
    )
    found = [
        diagnose_texts([texts.decode_text("log.txt", of.encode())]).findings for of in (left, ended + left)
    ]
    assert [[one.name for one in findings] for findings in found] == [["run_ended_in_mid_task"], []]


def _seconds(content):
    text = texts.decode_text("log.txt", content)
    start = time.process_time()
    diagnose_texts([text])
    return time.process_time() - start


SIZE = 1 << 15


def _assert_takes_time_as_it_has_bytes(unit):
    """Four times as many take some four times as long, on whatever machine; what looks back takes sixteen."""
    few = unit * (SIZE // len(unit))
    assert _seconds(few * 4) < 10 * _seconds(few) < 50


UNITS = (b"a", b" ", b"(", b"Traceback (most recent call last):", b"/x", b"NCCL", b"EADDRINUSE", b"port: 1, ")


@pytest.mark.parametrize("unit", [*UNITS, b"NCCL INFO comm 0x7f rank 1 nranks 2 "])
def test_one_long_line_is_looked_through_once(unit):
    assert diagnose_texts([texts.decode_text("log.txt", unit * (SIZE // len(unit)))]).findings == ()
    _assert_takes_time_as_it_has_bytes(unit)


def test_a_message_of_many_parts_takes_no_time_for_its_advice():
    raised = f"RuntimeError: CUDA error{': ' * 3_900}\n".encode()
    assert _seconds(raised * 40) < 3 + 40 * _seconds(b"RuntimeError: CUDA error\n")


def test_no_entry_takes_longer_over_a_long_line_than_all_others_together():
    line = "x" * (SIZE * 8)
    seconds = {}
    for name, entry in ENTRIES.items():
        start = time.process_time()
        entry.expression.search(line)
        seconds[name] = time.process_time() - start
    slowest = max(seconds, key=seconds.get)
    assert seconds[slowest] < sum(seconds.values()) / 2, slowest


def test_the_beginnings_of_all_excerpts_over_and_over_are_looked_through_once():
    halves = "".join(of.excerpt[: len(of.excerpt) // 2] for of in EXCERPTS.values())
    _assert_takes_time_as_it_has_bytes(halves.encode())


def test_random_bytes_are_no_failure():
    noise = bytes((number * number * 31 + 7 * number) % 256 for number in range(1 << 16)) * 8
    assert diagnose_texts([texts.decode_text("core", noise)]).findings == ()


def test_a_file_cut_off_in_a_character_is_read():
    content = "é No module named 'tenseal'\né".encode()[:-1]
    assert [finding.line for finding in diagnose_texts([texts.decode_text("log.txt", content)]).findings] == [
        1
    ]


def test_the_middle_of_a_huge_file_is_left_out_and_its_lines_still_count(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "LIMIT", 4096)
    path = tmp_path / "log.txt"
    path.write_text("first\n" * 10_000 + "No module named 'tenseal'\n" + "last\n" * 100)
    (found,) = diagnose_texts([texts.read_text(path, "log.txt")]).findings
    assert found.line == 10_001


NCCL = """\
[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3384, unhandled cuda error
[rank1]: ncclUnhandledCudaError: Call to CUDA function failed.
[rank1]: Last error:
[rank1]: {}
"""


def test_the_last_error_of_nccl_is_its_reason():
    taken, failed = (
        diagnose_texts([texts.decode_text("log.txt", NCCL.format(last).encode())]).findings[0]
        for last in ("Failed to CUDA calloc async 8 bytes", "Cuda failure 999 'unknown error'")
    )
    assert (taken.name, failed.name) == ("gpu_memory_taken", "nccl_cuda_error")
    assert "(its last error: Cuda failure 999 'unknown error')" in failed.cause


SLURM = {
    "slurm_lost_a_node": ["n10 is drained@ (reboot)", "n10 is down! (Not responding)"],
    "slurm_step_lost_its_node": ["srun: error: Node failure on gpu[07-08]"],
    "slurm_cancelled": [
        "slurmstepd-n9: error: *** JOB 3 ON n9 CANCELLED AT 2026-01-02T03:04 DUE to SIGNAL Killed ***"
    ],
    "slurm_time_over": ["JobId=7 JobState=DEADLINE Reason=None"],
    "slurm_preempted": ["JobId=7 JobState=PREEMPTED Reason=None"],
    "slurm_out_of_memory": [
        "slurmstepd: error: Detected 2 oom-kill event(s) in StepId=7.1. Some of your processes may have",
        "slurmstepd: error: StepId=7.batch exceeded memory limit (734003200 > 52428800), being killed",
    ],
    "slurm_folder_not_shared": [
        "slurmstepd-n10: error: couldn't chdir to '/shared/job': Permission denied: going to /tmp"
    ],
    "slurm_step_waits": ["srun: error: Unable to create step for job 7: Requested nodes are busy"],
}
"""From the sources of 21.08 to 25.11."""


@pytest.mark.parametrize("name", SLURM)
def test_messages_of_other_releases_and_builds_of_slurm_are_known(golden, name):
    found = [
        diagnose_texts([texts.decode_text("log.txt", AROUND.format(line).encode())]).findings
        for line in SLURM[name]
    ]
    assert [[finding.name for finding in findings] for findings in found] == [[name]] * len(found)
    golden(*(finding.cause for (finding,) in found))


@pytest.mark.parametrize(
    ("state", "name"),
    [("NODE_FAIL", "slurm_lost_a_node"), ("TIMEOUT", "slurm_time_over"), ("COMPLETING", "slurm_lost_a_node")],
)
def test_a_node_that_is_named_comes_before_that_one_failed_and_after_another_end(state, name):
    reason = "NodeDown" if state == "COMPLETING" else "None"
    log = f"JobId=7 JobState={state} Reason={reason}\nn10 is down* (Not responding)\n"
    assert diagnose_texts([texts.decode_text("slurm-job.log", log.encode())]).findings[0].name == name


@pytest.mark.parametrize(
    "before", ["srun: forcing job termination", "slurmstepd-n9: error: *** STEP 7.1 ON n9"]
)
def test_a_task_that_srun_itself_ended_was_not_killed_from_outside(before):
    killed = "srun: error: n10: task 1: Killed\nslurmstepd-n9: error: *** STEP 7.1 ON n9 CANCELLED AT x ***"
    found = diagnose_texts(
        [texts.decode_text("log.txt", AROUND.format(f"{before}\n{killed}").encode())]
    ).findings
    assert {one.echo for one in found} == {True}
