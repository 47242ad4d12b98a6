# SPDX-License-Identifier: Apache-2.0
"""Failures as collectors of logs show them: with prefixes, as records, and between lines of other ranks."""

import json
from collections import Counter

import pytest
from samples.field_logs import failures, found, healthy, outcome, root

FAILURES = failures()
SINGLE = [failure for failure in FAILURES if not failure.log.startswith("--- ")]
SHARES = [SINGLE[first % 8 :: 8] for first in range(12)]
"""An eighth of those of one file for each collector, another one each time."""


SHARES = [SINGLE[first % 8 :: 8] for first in range(12)]
"""An eighth of those of one file for each collector, another one each time."""


PREFIXES = {
    "srun": lambda line: f"0: {line}",
    "docker compose": lambda line: f"worker-1  | {line}",
    "Horovod": lambda line: f"[0]<stderr>:{line}",
    "RFC 3339": lambda line: f"2026-11-21T02:00:00.123456789Z {line}",
    "Docker's JSON": lambda line: json.dumps({"stream": "stderr", "log": f"{line}\n"}),
    "a logger's JSON": lambda line: json.dumps({"ts": 1.5, "logger": "fit", "message": line}),
    "journald": lambda line: f"Nov 21 02:00:00 gpu-7 train.sh[4411]: {line}",
    "ts": lambda line: f"[2026-11-21 02:00:00] {line}",
    "stern": lambda line: f"fl-server-0 trainer {line}",
    "pdsh": lambda line: f"gpu-7: {line}",
    "Ray": lambda line: f"(TrainWorker pid=4412, ip=10.0.0.4) {line}",
    "a quotation": lambda line: f"> {line}",
}


PAIRS = {
    "srun": ("0: ", "1: "),
    "torchrun": ("[rank1]: ", "[rank0]: "),
    "Horovod": ("[1]<stderr>:", "[0]<stdout>:"),
    "docker compose": ("worker-1  | ", "worker-2  | "),
    "Ray": ("(Worker pid=1) ", "(Worker pid=2) "),
    "pdsh": ("gpu-7: ", "gpu-8: "),
}
"""What two collectors put before the lines of one rank, container or host, and of another."""


@pytest.mark.parametrize(("collector", "logs"), [*zip(PREFIXES, SHARES, strict=False)])
def test_a_prefix_on_each_line_changes_few_answers(collector, logs):
    put = PREFIXES[collector]
    counts = Counter(
        outcome(failure, "".join(f"{put(line)}\n" for line in failure.log.splitlines())) for failure in logs
    )
    right = Counter(outcome(failure) for failure in logs)["right"]
    assert counts["right"] >= right - 0.03 * len(logs), (counts, right)
    assert [
        name for name, log in healthy() if root("".join(f"{put(line)}\n" for line in log.splitlines()))
    ] == []


@pytest.mark.parametrize(("collector", "logs"), [*zip(PAIRS, SHARES, strict=False)])
def test_a_rank_that_goes_on_between_the_lines_of_another_takes_back_nothing(collector, logs):
    failing, well = PAIRS[collector]

    def between(log):
        lines = log.splitlines()
        steps = [f"{well}step {number} loss 0.5" for number in range(len(lines) + 2)]
        pairs = [part for line, step in zip(lines, steps, strict=False) for part in (failing + line, step)]
        return "\n".join([*pairs, *steps[-2:], ""])

    changed = [
        one.name for one in logs if outcome(one) == "right" and outcome(one, between(one.log)) != "right"
    ]
    assert len(changed) <= 0.03 * len(logs), changed


def test_of_many_ranks_those_are_read_that_alarm():
    steps = [f"[rank{rank}]: step {step} loss 0.5\n" for step in range(3) for rank in range(20)]
    error = "[rank7]: RuntimeError: No CUDA GPUs are available\n"
    goes_on = [line for line in steps if not line.startswith("[rank7]")]
    assert root("".join([*steps, error, *goes_on])).name == root(error).name


def test_lines_of_a_collectors_own_do_not_hide_its_prefix():
    log = 'a-1  | up\na-1  | Traceback (most recent call last):\na-1  |   File "/a.py", line 9, in <module>\n'
    log += "a-1  | KeyError: 'site'\na-1 exited with code 1\nb-1 exited with code 2\n"
    assert "KeyError" in root(log).cause


def test_a_traceback_in_a_record_of_json_stands_in_the_line_of_the_record():
    raised = (
        "Traceback (most recent call last):\n  File \"/w/fit.py\", line 7, in f\n    g()\nKeyError: 'site'"
    )
    records = [
        {"level": "info", "msg": "begins"},
        {"level": "error", "msg": "round 1 failed", "exc_info": raised},
        {"level": "error", "msg": "cannot join", "error": "dial tcp 10.0.0.4:8002: connection refused"},
    ]
    log = "".join(f"{json.dumps(one)}\n" for one in records)
    assert [(one.line, one.message) for one in found(log).timeline] == [
        (2, "ERROR: round 1 failed"),
        (2, "KeyError: 'site'"),
        (3, "ERROR: cannot join: dial tcp 10.0.0.4:8002: connection refused"),
    ]
    assert root(log).cause == "A process raised KeyError: 'site' at fit.py:7."
