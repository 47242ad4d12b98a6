# SPDX-License-Identifier: Apache-2.0
"""What changed between two runs: verdicts first, then figures and environments; each change once."""

import pytest
from msgspec.structs import replace
from report_folders import FAIL, PASS, PLAN, RECORDINGS, add_host, fill

from rekindle.capsule.changes import changes
from rekindle.cli import diff
from rekindle.cli.verb import FAILED, OK
from rekindle.records import EnvRecord, read, write
from rekindle.results.gather import gather

ENV = read(RECORDINGS / "h200-x2" / "env.json", EnvRecord)


@pytest.fixture
def runs(tmp_path):
    """Return two runs of three hosts, in which everything is the same."""
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        fill(folder, "gpu-1", "gpu-2", "gpu-3")
        for host in ("gpu-1", "gpu-2", "gpu-3"):
            add_host(folder, host)
            write(folder / host / "env.json", replace(ENV, host=host))
    return folders


def between(folders):
    return changes(*map(gather, folders), *folders)


def test_runs_that_are_the_same_have_one_line(runs):
    found = between(runs)
    assert (found.found, found.same_verdicts, found.same_environments) == ([], 3, 3)
    answer = diff.run(*runs)
    assert answer == (OK, "3 verdicts and the environments of 3 hosts are the same.")


def test_verdicts_come_first_and_what_is_alike_on_several_hosts_once(golden, runs):
    for host, seconds in (("gpu-1", 300.0), ("gpu-2", 310.0)):
        add_host(runs[1], host, verdict=replace(PASS, duration_s=seconds))
    add_host(runs[1], "gpu-3", verdict=FAIL)
    old, *rest = ENV.environments
    for host in ("gpu-1", "gpu-2"):
        changed = replace(old, packages={**old.packages, "numpy": "0.0"})
        write(runs[1] / host / "env.json", replace(ENV, host=host, environments=(changed, *rest)))
    answer = diff.run(*runs)
    assert answer.status == FAILED
    golden(*answer.text.splitlines())


@pytest.mark.parametrize(
    ("seconds", "changed"), [(240.0, False), (260.0, True), (170.0, False), (150.0, True)]
)
def test_a_figure_has_changed_by_more_than_a_quarter(runs, seconds, changed):
    add_host(runs[1], "gpu-1", verdict=replace(PASS, duration_s=seconds))
    assert bool(between(runs).found) is changed


def test_samples_and_memory_are_figures(runs):
    slow = tuple(replace(one, seconds=one.seconds * 2) for one in PASS.rounds)
    large = tuple(replace(device, peak_memory_mib=4096) for device in PASS.devices)
    add_host(runs[1], "gpu-1", verdict=replace(PASS, rounds=slow, devices=large))
    assert between(runs).found == [
        ("gpu-1", "pt_ddp: samples/s 7200 → 3600"),
        ("gpu-1", "pt_ddp: GiB of GPU memory 8 → 16"),
    ]


def test_hosts_and_jobs_of_one_run_alone_are_named(runs):
    fill(runs[1], "gpu-1", "gpu-2", "gpu-4")
    add_host(runs[1], "gpu-4")
    add_host(runs[1], "gpu-1", plan=replace(PLAN, jobs=("pt_ddp", "llm_sft")))
    found = between(runs).found
    assert found[:2] == [("gpu-3", "only in the first run"), ("gpu-4", "only in the second run")]
    assert found[2][1].startswith("llm_sft: not asked for → SKIPPED: No verdict was collected.")


def test_two_leases_are_compared_in_the_order_of_their_hosts(runs):
    fill(runs[1], "new-1", "new-2")
    add_host(runs[1], "new-1")
    add_host(runs[1], "new-2", verdict=FAIL)
    found = between(runs)
    assert found.found[0] == ("gpu-3", "only in the first run")
    assert [host for host, message in found.found if "PASS → FAIL" in message] == ["new-2"]
    assert found.same_verdicts == 1
