# SPDX-License-Identifier: Apache-2.0
"""Acceptance of all hosts of any number of runs."""

import json

import pytest
from msgspec.structs import replace
from samples.fleets import accepted as healthy
from samples.fleets import edited, kind, times, value
from samples.folders import fill_accepted

from rekindle.records import write_record
from rekindle.results.acceptance import compare_accepted
from rekindle.results.contents import gather_results


def run(folder, *records, hosts=()):
    """Write a run, and read it."""
    return gather_results(fill_accepted(folder, *records, hosts=hosts))


def test_hosts_of_several_runs_are_one_fleet(tmp_path):
    fleet = [healthy(f"gpu-{n}", kind(model="NVIDIA Z9")) for n in range(4)]
    fleet[3] = edited(fleet[3], "fp16_matmul", times(0.9), 2)
    runs = [run(tmp_path / record.host, record) for record in fleet]
    found, strips = compare_accepted(runs, [])
    assert [host.verdict for host in found.hosts] == ["PASS", "PASS", "PASS", "FAIL"]
    assert found.state == "failed"
    assert (found.worst[0].host, found.worst[0].bad) == ("gpu-3", True)
    assert found.worst[0].message.startswith("GPU 2 (GPU-gpu-3-2): fp16_matmul is")
    assert len(found.worst) == 3
    shown = {strip.name: strip for strip in strips}
    assert len(shown["fp16_matmul"].points) == 32
    assert [point.host for point in shown["fp16_matmul"].points if point.bad] == ["gpu-3"]
    assert len(shown["peer_copy"].points) == 32
    assert len(shown["all_reduce"].points) == 4


def test_the_newest_record_of_a_host_counts_and_the_others_are_its_past(tmp_path):
    before = healthy("gpu-1", kind(4))
    after = edited(before, "fp16_matmul", times(0.8))
    first = run(tmp_path / "1", before)
    second = run(tmp_path / "2", replace(after, started="2026-11-23T10:00:00Z"))
    assert compare_accepted([second], [])[0].state == "ok"  # no norm, and all four alike
    for order in ([first, second], [second, first]):
        found, _ = compare_accepted(order, [])
        assert [host.verdict for host in found.hosts] == ["FAIL"]
        assert "2026-11-22T10:00:00Z" in found.hosts[0].cause


def test_an_unknown_speed_makes_no_gpu_bad(tmp_path):
    alone = healthy("gpu-1", kind(4, "NVIDIA Z9"))
    found, strips = compare_accepted([run(tmp_path / "1", alone)], [])
    assert [host.verdict for host in found.hosts] == ["UNPROVEN"]
    assert not any(point.bad for strip in strips for point in strip.points)
    slow = edited(alone, "fp16_matmul", times(0.8), 2)
    found, strips = compare_accepted([run(tmp_path / "2", slow)], [])
    bad = [point.message for strip in strips for point in strip.points if point.bad]
    assert len(bad) == 1
    assert found.worst[0].message == bad[0]
    assert found.hosts[0].flaws[0].worse == pytest.approx(0.2, abs=0.03)


def test_a_folders_name_is_the_hosts_whatever_its_record_has(tmp_path):
    liar = healthy("gpu-1", kind(4))
    folder = tmp_path / "run"
    run(folder, healthy("gpu-2", kind(4)), liar)
    write_record(folder / "gpu-2" / "acceptance.json", edited(liar, "memory_errors", value(1), 0))
    found, _ = compare_accepted([gather_results(folder)], [])
    assert [(host.host, host.verdict) for host in found.hosts] == [("gpu-1", "PASS"), ("gpu-2", "FAIL")]


@pytest.mark.parametrize(
    ("content", "state"),
    [(None, "failed"), ("{", "failed"), (json.dumps({"schema": "rekindle/acceptance/9"}), "unknown")],
)
def test_a_host_with_gpus_and_no_record_that_can_be_read_is_unproven(tmp_path, content, state):
    run(tmp_path, healthy("gpu-1", kind(4)), hosts=["gpu-2"])
    if content:
        (tmp_path / "gpu-2" / "acceptance.json").write_text(content)
    found, _ = compare_accepted([gather_results(tmp_path)], [])
    assert [(host.host, host.verdict) for host in found.hosts] == [("gpu-1", "PASS"), ("gpu-2", "UNPROVEN")]
    assert found.state == state
    assert "acceptance.json" in found.hosts[1].cause


def test_a_run_that_is_left_out_leaves_the_answer_open(tmp_path):
    runs = [run(tmp_path / "run", healthy("gpu-1", kind(4)))]
    assert compare_accepted(runs, [])[0].state == "ok"
    assert compare_accepted(runs, ["One is broken."])[0].state == "unknown"
