# SPDX-License-Identifier: Apache-2.0
"""A line a run: when it began, on what, how it ended, how long it took."""

import re
import shutil

from msgspec.structs import replace
from samples.folders import FAIL, NOTHING, NOW, PASS, add_host, fill

from rekindle.report.runs import format_runs, make_runs_data
from rekindle.results.contents import gather_results


def listed(*folders, unread=()):
    return make_runs_data({folder: gather_results(folder) for folder in folders}, list(unread))


def test_the_newest_comes_first_with_its_answer_and_time(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    hosts = tuple(f"gpu-{n}" for n in range(1, 5))
    add_host(fill(first, "gpu-1", started="2026-11-20T02:00:00Z"), "gpu-1", **NOTHING)
    fill(second, *hosts, began=dict.fromkeys(hosts, NOW))
    for host in hosts:
        add_host(second, host, verdict=replace(PASS, started="2026-11-21T02:10:00Z", duration_s=100.0))
    add_host(second, "gpu-4", verdict=replace(FAIL, started="2026-11-21T01:10:00Z", duration_s=9e3))
    found = listed(first, second)
    assert [(run.run, run.state, run.took_s) for run in found.runs] == [
        ("second", "not proven", 700.0),
        ("first", "not proven", None),
    ]
    lines = format_runs(found, 120, colour=False).splitlines()
    assert re.fullmatch(
        r"second +2026-11-2\d \d\d:00 +gpu-1 and 3 more +11 min 40 s +3 of 4 hosts proven; 1 FAIL.",
        lines[2],
    )
    assert re.fullmatch(r"first +2026-11-\d\d \d\d:00 +gpu-1 +– +0 of 1 hosts proven; 1 SKIPPED.", lines[3])


def test_what_could_not_be_read_is_told_and_a_verdict_that_is_none_is_a_line(tmp_path):
    broken = replace(PASS, duration_s=1e99)
    add_host(fill(tmp_path / "r\x1b[2J", "gpu-1"), "gpu-1", verdict=broken)
    text = format_runs(listed(tmp_path / "r\x1b[2J", unread=["x/run.json is broken."]), 80, colour=False)
    assert "\x1b" not in text
    assert "1 UNPROVEN" in text
    assert text.endswith("x/run.json is broken.")


def test_a_copy_has_the_name_of_its_own_folder(tmp_path):
    shutil.copytree(fill(tmp_path / "first", "gpu-1"), tmp_path / "second")
    assert {run.run for run in listed(tmp_path / "first", tmp_path / "second").runs} == {"first", "second"}


def test_a_run_without_hosts_is_listed(tmp_path):
    assert listed(fill(tmp_path)).runs[0].answer.startswith("The run had no hosts.")
