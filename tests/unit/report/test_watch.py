# SPDX-License-Identifier: Apache-2.0
"""A run that goes on, on a terminal and a line a change."""

import re
from datetime import datetime, timezone

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, PASS, add_host, fill

from rekindle.report.watch import format_change, format_watch
from rekindle.results.contents import gather_results
from rekindle.results.progress import HostProgress, RunProgress

NOW = datetime(2026, 11, 21, 8, 30, tzinfo=timezone.utc)
HOST = HostProgress(
    host="gpu-1",
    stage="validate",
    job="pt_ddp",
    message="round 2/3, loss 0.0585, about 6 s left",
    verdict="RUNNING",
    verdicts={"PASS": 2, "RUNNING": 1},
    lease_ends="2026-11-21T10:00:00Z",
)


@pytest.fixture
def run(tmp_path):
    """Return a run of 40 hosts, of which one has failed, one has passed and the others go on."""
    folder = fill(tmp_path, "gpu-1", "gpu-2")
    add_host(folder, "gpu-1", verdict=FAIL)
    add_host(folder, "gpu-2", verdict=PASS)
    return RunProgress(
        NOW, gather_results(folder), [replace(HOST, host=f"gpu-{number}") for number in range(1, 41)]
    )


@pytest.mark.parametrize("height", [24, 50, 5])
def test_it_is_no_higher_than_the_terminal_and_keeps_failures(run, height):
    lines = format_watch(run, 100, height, False).splitlines()
    assert len(lines) <= max(height, 7)
    assert lines[0] == "1 of 2 hosts proven; 1 FAIL. The first lease ends in 1 h 30 min."
    if height > 5:
        assert lines[-1].startswith("FAIL: 1 on gpu-1 …: Final accuracy")
    shown = sum("validate" in line for line in lines)
    assert (f"and {40 - shown} more hosts" in lines) is (shown < 40)


def test_a_host_has_its_stage_job_round_loss_and_the_time_that_is_left(run):
    row = next(line for line in format_watch(run, 100, 24, False).splitlines() if line.startswith("gpu-1 "))
    assert re.split(r"  +", row) == [
        *("gpu-1", "validate", "pt_ddp", "1 RUNNING, 2 PASS", "1 h 30 min"),
        "round 2/3, loss 0.0585, about 6 s left",
    ]


def test_a_change_is_a_line():
    line = format_change(HOST, NOW)
    assert re.fullmatch(r"\d\d:30:00 gpu-1 validate pt_ddp: round 2/3, loss 0\.0585, about 6 s left", line)
    ended = HostProgress("gpu-1", None, None, "a\x1b[2J\nb", "FAIL", {"FAIL": 1}, None)
    assert format_change(ended, NOW)[9:] == "gpu-1 FAIL: a b"
