# SPDX-License-Identifier: Apache-2.0
"""Hosts compared with each other."""

from functools import cache

import pytest
from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, times, value

from rekindle.acceptance import compare_hosts, evaluate_figures, judge_acceptance


@cache
def healthy(hosts, count=8, model="NVIDIA H200"):
    return tuple(accepted(f"gpu-{n}", kind(count, model)) for n in range(hosts))


def broken(fleet, host, *edits):
    """Return the fleet with one host edited."""
    record = fleet[host]
    for edit in edits:
        record = edited(record, *edit)
    return (*fleet[:host], record, *fleet[host + 1 :])


def verdicts(fleet):
    fleet = [evaluate_figures(record) for record in fleet]
    comparison = compare_hosts(fleet)
    flaws = {record.host: [flaw for flaw in comparison.flaws if flaw.host == record.host] for record in fleet}
    return {
        record.host: judge_acceptance(record, flaws[record.host], record.host in comparison.hosts)
        for record in fleet
    }


def bad(fleet):
    return {host: judgement for host, judgement in verdicts(fleet).items() if judgement.verdict != "PASS"}


@pytest.mark.parametrize("model", ["NVIDIA H200", "NVIDIA Z9"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("bf16_matmul", times(0.9)),
        ("product_differs", value(2)),
        ("pcie_width", value(4, norm=None)),
        ("nvlinks_up", value(17)),
        ("xids", value(1, series=(79.0,))),
        ("memory_errors", value(64)),
    ],
)
def test_of_fifty_hosts_the_one_with_a_fault_is_named_by_gpu(name, change, model):
    fleet = broken(healthy(50, model=model), 17, (name, change, 5))
    found = bad(fleet)
    assert found.keys() == {"gpu-17"}
    judgement = found["gpu-17"]
    flaws = {(flaw.gpu, flaw.measurement) for flaw in judgement.flaws}
    assert (judgement.verdict, flaws) == ("FAIL", {(5, name)})
    assert "GPU 5 (GPU-gpu-17-5)" in judgement.cause


@pytest.mark.parametrize("model", ["NVIDIA H200", "NVIDIA Z9"])
def test_fifty_healthy_hosts_pass(model):
    assert not bad(healthy(50, model=model))
    assert not any(judgement.flaws for judgement in verdicts(healthy(50, model=model)).values())


def test_a_dead_lane_is_found_although_its_host_then_has_another_topology():
    fleet = broken(healthy(50, model="NVIDIA Z9"), 9, ("nvlinks_up", value(17), 2))
    odd = replace(fleet[9], kind=replace(fleet[9].kind, topology="NV17"))
    comparison = compare_hosts([*fleet[:9], odd, *fleet[10:]])
    flaws = {(flaw.host, flaw.gpu, flaw.measurement) for flaw in comparison.flaws}
    assert flaws == {("gpu-9", 2, "nvlinks_up")}


def test_hosts_that_were_built_without_nvlink_are_not_compared_with_others_by_it():
    fleet = healthy(50, model="NVIDIA Z9")
    bare = edited(fleet[9], "nvlinks_up", value(0))
    bare = replace(bare, kind=replace(bare.kind, topology="SYS"))
    assert not compare_hosts([*fleet[:9], bare, *fleet[10:]]).flaws
    record = edited(fleet[9], "nvlinks_up", value(0), 2)
    comparison = compare_hosts([*fleet[:9], record, *fleet[10:]])
    assert {(flaw.host, flaw.gpu) for flaw in comparison.flaws} == {("gpu-9", 2)}


def test_a_slow_gpu_is_blamed_for_its_pairs_and_a_slow_link_for_one():
    comparison = compare_hosts(broken(healthy(50, model="NVIDIA Z9"), 4, ("peer_copy", times(0.8), 6)))
    assert [(flaw.host, flaw.gpu) for flaw in comparison.flaws] == [("gpu-4", 6)]
    assert "14 directions between GPU 6 (GPU-gpu-4-6) and 7 others" in comparison.flaws[0].message
    comparison = compare_hosts(broken(healthy(50, model="NVIDIA Z9"), 4, ("peer_copy", times(0.8), 6, 1)))
    assert len(comparison.flaws) == 1
    assert comparison.flaws[0].gpu in {1, 6}


def test_gpus_are_compared_with_those_in_the_same_place():
    slow = [("host_to_device", times(0.7), gpu) for gpu in (0, 1)]
    fleet = [broken((record,), 0, *slow)[0] for record in healthy(50)]
    assert not compare_hosts(fleet).flaws
    slower = broken(tuple(fleet), 8, ("host_to_device", times(0.9), 1))
    assert [(flaw.host, flaw.gpu) for flaw in compare_hosts(slower).flaws] == [("gpu-8", 1)]


@pytest.mark.parametrize("hosts", [3, 50])
def test_a_slow_host_is_named_once(hosts):
    fleet = broken(healthy(hosts, model="NVIDIA Z9"), 1, ("bf16_matmul", times(0.9)))
    found = bad(fleet)
    assert found.keys() == {"gpu-1"}
    assert found["gpu-1"].verdict == "FAIL"
    assert found["gpu-1"].cause.startswith("The host: 8 figures of bf16_matmul have the median")


def test_of_two_hosts_the_slower_is_unproven_as_either_may_be_right():
    slow = [(f"{precision}_matmul", times(0.9)) for precision in ("bf16", "fp16", "tf32")]
    found = bad(broken(healthy(2, model="NVIDIA Z9"), 1, *slow))
    assert [(judgement.host, judgement.verdict) for judgement in found.values()] == [("gpu-1", "UNPROVEN")]
    assert "either may be right" in found["gpu-1"].cause


@pytest.mark.parametrize("hosts", [2, 3])
@pytest.mark.parametrize("count", [1, 8])
def test_a_slow_gpu_in_a_small_fleet_is_named(hosts, count):
    fleet = broken(healthy(hosts, count, "NVIDIA Z9"), 0, ("bf16_matmul", times(0.9), 0))
    assert not bad(healthy(hosts, count, "NVIDIA Z9"))
    found = bad(fleet)
    assert [(judgement.host, judgement.flaws[0].gpu) for judgement in found.values()] == [("gpu-0", 0)]
    assert found["gpu-0"].verdict == ("UNPROVEN" if hosts * count == 2 else "FAIL")


@pytest.mark.parametrize("hosts", [4, 12, 50])
@pytest.mark.parametrize("count", [1, 8])
def test_two_clusters_mixed_up_are_both_unproven(hosts, count):
    fleet = list(healthy(hosts, count, "NVIDIA Z9"))
    for half in range(0, hosts, 2):
        fleet[half] = edited(fleet[half], "bf16_matmul", times(0.9))
    found = bad(fleet)
    assert found.keys() == {f"gpu-{n}" for n in range(0, hosts, 2)}
    assert {judgement.verdict for judgement in found.values()} == {"UNPROVEN"}


def test_a_slow_gpu_is_found_within_the_better_of_two_clusters():
    fleet = list(healthy(50))
    for half in range(0, 50, 2):
        fleet[half] = edited(fleet[half], "tf32_matmul", times(0.85))
    fleet[1] = edited(fleet[1], "tf32_matmul", times(0.9), 7)
    assert ("gpu-1", 7) in {(flaw.host, flaw.gpu) for flaw in compare_hosts(fleet).flaws}


def test_all_slow_alike_is_what_norms_are_for():
    fleet = [edited(record, "bf16_matmul", times(0.9)) for record in healthy(50)]
    assert not compare_hosts(fleet).flaws
    assert {judgement.verdict for judgement in verdicts(fleet).values()} == {"FAIL"}


def test_a_missing_figure_is_one_hosts_and_changes_nothing_for_others():
    fleet = broken(healthy(50), 5, ("device_copy", value(None, message="Out of memory."), 2))
    found = bad(fleet)
    assert [(judgement.host, judgement.verdict) for judgement in found.values()] == [("gpu-5", "UNPROVEN")]
    empty = replace(fleet[5], measurements=())
    assert bad([*fleet[:5], empty, *fleet[6:]]).keys() == {"gpu-5"}


def test_small_messages_and_latencies_are_not_compared():
    fleet = [edited(record, "all_reduce", lambda _: {"size": 1 << 20}) for record in healthy(5, 4)]
    assert not compare_hosts(broken(tuple(fleet), 1, ("all_reduce", times(0.4)))).flaws
    assert compare_hosts(broken(healthy(5, 4), 1, ("all_reduce", times(0.4)))).flaws


def test_hosts_of_another_kind_are_not_compared():
    fleet = [
        *healthy(3),
        *(edited(accepted(f"z-{n}", kind(8, driver="470.1")), "bf16_matmul", times(0.97)) for n in range(3)),
    ]
    for change in ({"model": "Z9"}, {"count": 4}, {"topology": "SYS"}, {"driver": "1"}, {"nvls": True}):
        slow = edited(accepted("odd"), "tf32_matmul", times(0.5))
        odd = replace(slow, kind=replace(slow.kind, **change))
        comparison = compare_hosts([*fleet, odd])
        assert not comparison.flaws
        assert "odd" not in comparison.hosts
    assert compare_hosts([]).flaws == ()


def test_of_two_hosts_a_slow_link_is_unproven():
    comparison = compare_hosts(broken(healthy(2, model="NVIDIA Z9"), 1, ("peer_copy", times(0.8), 6, 1)))
    assert [(flaw.host, flaw.verdict) for flaw in comparison.flaws] == [("gpu-1", "UNPROVEN")]


def test_gpus_of_two_models_in_hosts_are_not_compared():
    def two(record):
        gpus = tuple(replace(gpu, name="Z8" if gpu.index % 2 else "Z9") for gpu in record.gpus)
        record = replace(record, gpus=gpus)
        for index in range(1, record.kind.count, 2):
            record = edited(record, "fp16_matmul", times(0.5), index)
        return record

    fleet = tuple(two(record) for record in healthy(10, model="Z8 + Z9"))
    assert not bad(fleet)
    found = bad(broken(fleet, 4, ("fp16_matmul", times(0.9), 3)))
    assert [(judgement.host, judgement.flaws[0].gpu) for judgement in found.values()] == [("gpu-4", 3)]
