# SPDX-License-Identifier: Apache-2.0
"""What differs between two runs: verdicts first, then figures and environments; each change once."""

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, PASS, PLAN, RECORDINGS, add_host, fill
from samples.hosts import built

from rekindle.cli import diff
from rekindle.cli.verb import FAILED, OK
from rekindle.records import Environment, EnvRecord, read_record, write_record
from rekindle.report.comparison import list_changes
from rekindle.results.comparison import compare_environments, compare_runs
from rekindle.results.contents import gather_results

ENV = read_record(RECORDINGS / "h200-x2" / "env.json", EnvRecord)


@pytest.fixture
def runs(tmp_path):
    """Return two runs of three hosts, in which everything is the same."""
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        fill(folder, "gpu-1", "gpu-2", "gpu-3")
        for host in ("gpu-1", "gpu-2", "gpu-3"):
            add_host(folder, host)
            write_record(folder / host / "env.json", replace(ENV, host=host))
    return folders


def between(folders):
    return list(list_changes(compare_runs(*map(gather_results, folders), *folders)))


def test_runs_that_are_the_same_have_one_line(runs):
    assert between(runs) == []
    answer = diff.run(*runs)
    assert answer == (OK, "3 verdicts and the environments of 3 hosts are the same.")


def test_verdicts_come_first_and_what_is_alike_on_several_hosts_once(golden, runs):
    for host, seconds in (("gpu-1", 400.0), ("gpu-2", 410.0)):
        add_host(runs[1], host, verdict=replace(PASS, duration_s=seconds))
    add_host(runs[1], "gpu-3", verdict=FAIL)
    old, *rest = ENV.environments
    for host in ("gpu-1", "gpu-2"):
        changed = replace(old, packages={**old.packages, "numpy": "0.0"})
        write_record(runs[1] / host / "env.json", replace(ENV, host=host, environments=(changed, *rest)))
    answer = diff.run(*runs)
    assert answer.status == FAILED
    golden(*answer.text.splitlines())


@pytest.mark.parametrize(
    ("seconds", "changed"), [(250.0, False), (251.0, True), (161.0, False), (160.0, True)]
)
def test_a_figure_has_changed_by_more_than_runs_of_the_same_do(runs, seconds, changed):
    add_host(runs[1], "gpu-1", verdict=replace(PASS, duration_s=seconds))
    assert bool(between(runs)) is changed


def _slower(times):
    return tuple(replace(one, seconds=one.seconds * times) for one in PASS.rounds)


def test_short_rounds_have_no_speed(runs):
    add_host(runs[1], "gpu-1", verdict=replace(PASS, rounds=_slower(2)))
    assert between(runs) == []


def test_samples_and_memory_are_figures(runs):
    large = tuple(replace(device, peak_memory_mib=4096) for device in PASS.devices)
    add_host(runs[0], "gpu-1", verdict=replace(PASS, rounds=_slower(20)))
    add_host(runs[1], "gpu-1", verdict=replace(PASS, rounds=_slower(40), devices=large))
    assert between(runs) == [
        ("gpu-1", "pt_ddp: samples/s 360 → 180"),
        ("gpu-1", "pt_ddp: GPU memory 8192 → 16384 MiB"),
    ]


def test_hosts_and_jobs_of_one_run_alone_are_named(runs):
    fill(runs[1], "gpu-1", "gpu-2", "gpu-4")
    add_host(runs[1], "gpu-4")
    add_host(runs[1], "gpu-1", plan=replace(PLAN, jobs=("pt_ddp", "llm_sft")))
    found = between(runs)
    assert found[:2] == [("gpu-3", "only in the first run"), ("gpu-4", "only in the second run")]
    assert found[2][1].startswith("llm_sft: not asked for → SKIPPED: No verdict was collected.")


def test_another_cause_is_a_change(runs):
    for folder, cause in zip(runs, ("The loss is nan.", "The disk is full."), strict=True):
        add_host(folder, "gpu-1", verdict=replace(FAIL, cause=cause))
    assert between(runs) == [("gpu-1", "pt_ddp: FAIL for another reason: The disk is full.")]


def test_two_leases_are_compared_in_the_order_of_their_hosts(runs):
    fill(runs[1], "new-1", "new-2")
    add_host(runs[1], "new-1")
    add_host(runs[1], "new-2", verdict=FAIL)
    found = between(runs)
    assert found[0] == ("gpu-3", "only in the first run")
    assert [host for host, message in found if "PASS → FAIL" in message] == ["new-2"]
    assert diff.run(*runs).text.endswith("1 verdicts and the environments of 0 hosts are the same.")


def test_a_job_without_a_verdict_is_compared_with_that_on_its_host(runs):
    (runs[1] / "gpu-1/pt_ddp/verdict.json").unlink()
    add_host(runs[1], "gpu-1", plan=None, verdict=None, left="It vanished.", state="unreachable")
    assert between(runs) == [
        ("gpu-1", "pt_ddp: PASS → LOST: The host was lost during validate. It vanished.")
    ]


def _environment(**changes):
    base = {"packages": {"torch": "2.11.0", "numpy": "2.5.5"}, "probe": {"build": {"cuda": "13.0"}}}
    return EnvRecord(host="h", environments=(Environment(**built(**{**base, **changes})),))


def test_diff_names_what_differs_and_nothing_else():
    same = _environment(path="/b", built="2026-11-22T02:00:00Z", build_s=9.0)
    other = _environment(packages={"torch": "2.13.0", "scipy": "1"}, probe={"build": {"cuda": "12.8"}})
    assert list(compare_environments(_environment(), same)) == []
    assert list(compare_environments(_environment(), other)) == [
        "torch: build cuda: 13.0 → 12.8",
        "torch: package numpy: 2.5.5 → absent",
        "torch: package scipy: absent → 1",
        "torch: package torch: 2.11.0 → 2.13.0",
    ]
    assert list(compare_environments(_environment(), EnvRecord(host="h", environments=()))) == [
        "torch: only in the first"
    ]
