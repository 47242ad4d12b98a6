# SPDX-License-Identifier: Apache-2.0
"""Which runs may go: never a job's last PASS, an open failure, or a run that goes on."""

import pytest
from msgspec.structs import replace
from report_folders import FAIL, NOTHING, PASS, PLAN, add_host, fill

from rekindle.results.gather import gather
from rekindle.results.journal import keep_playing
from rekindle.results.pruning import removable

OTHER = {"plan": replace(PLAN, jobs=("llm_sft",)), "verdict": replace(PASS, job="llm_sft")}
LOST = {**NOTHING, "left": "Gone. Fix: lease it again.", "state": "unreachable"}
BROKEN = {"verdict": FAIL}


def runs(folder, *changes, host="gpu-1"):
    """Return a run a day, of one host that is healthy but for these changes."""
    folders = {}
    for day, change in enumerate(changes, 1):
        path = fill(folder / f"r{day}", host, started=f"2026-11-{day:02}T02:00:00Z")
        add_host(path, host, **change)
        folders[path] = path
    return folders


def gone(folders, keep):
    return [path.name for path in removable({path: gather(path) for path in folders}, keep)]


@pytest.mark.parametrize(
    ("changes", "keep", "names"),
    [
        ([{}, {}, {}, {}], 2, ["r1", "r2"]),
        ([{}, {}], 5, []),
        ([{}, {}, BROKEN], 1, ["r1"]),  # the last PASS is the second
        ([{}, BROKEN, {}], 1, ["r1", "r2"]),  # a failure that is closed
        ([BROKEN, OTHER, OTHER], 1, ["r2"]),  # one that is open
        ([OTHER, {}, {}], 1, ["r2"]),  # another job's last PASS
        ([LOST, {}], 1, ["r1"]),  # the host was back
        ([{}, LOST, LOST], 1, ["r2"]),
    ],
    ids=["old", "few", "last PASS", "closed", "open", "other job", "host back", "host lost"],
)
def test_only_what_nobody_needs_goes_the_oldest_first(tmp_path, changes, keep, names):
    assert gone(runs(tmp_path, *changes), keep) == names


def test_a_run_that_goes_on_stays(tmp_path):
    folders = runs(tmp_path, {"verdict": None}, {}, {})
    assert gone(folders, 1) == ["r1", "r2"]
    with keep_playing(tmp_path / "r1"):
        assert gone(folders, 1) == ["r2"]


def test_the_same_job_of_two_hosts_is_two(tmp_path):
    folders = runs(tmp_path / "a", {}, {}) | runs(tmp_path / "b", {}, {}, host="gpu-2")
    assert sorted(gone(folders, 1)) == ["r1", "r1"]
