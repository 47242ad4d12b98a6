# SPDX-License-Identifier: Apache-2.0
"""Several looks at a figure, on their host, in a fleet and over time."""

import pytest
from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, value

from rekindle.acceptance import (
    compare_hosts,
    evaluate_figures,
    find_changes,
    find_failed_gpus,
    is_only_slow,
    judge_acceptance,
)
from rekindle.acceptance.looks import list_doubtful
from rekindle.records import dump_builtins
from rekindle.records.acceptance import GpuUse, LaterLook, Look
from rekindle.records.host import GpuProcess

HOST = accepted("gpu-1", kind(4))
G3 = "GPU-gpu-1-3"


def looked(record, name, first, *later, gpu=3, peer=None):
    """Return the record with these values of several looks."""
    again = tuple(LaterLook(value=number, holds=True) for number in later)  # the host's own result
    return edited(record, name, value(first, again=again), gpu, peer)


def verdict(record, **rest):
    return judge_acceptance(evaluate_figures(record), **rest)


@pytest.mark.parametrize(
    "figure",
    [
        ("host_to_device", 54, 38.5, " GB/s"),
        ("bf16_matmul", 791, 600, " TFLOP/s"),
        ("utilisation_before", 0, 50, " %"),
    ],
)
@pytest.mark.parametrize(
    ("bads", "found", "message"),
    [
        ((1, 1, 1, 1), "FAIL", "in all 4 looks."),
        ((1, 1), "FAIL", "in all 2 looks."),
        ((1, 0, 0, 0), None, "in one of 4 looks alone."),
        ((1, 1, 0), None, "in the first two of 3 looks, one right after the other."),
        ((0, 1, 1, 0), "UNPROVEN", "in 2 of 4 looks: it is unsteady."),
        ((0, 0, 0, 1), None, "in one of 4 looks alone."),
        ((0, 1), "UNPROVEN", "in 1 of 2 looks: it is unsteady."),
        ((1, 1, 1, 0), "UNPROVEN", "in 3 of 4 looks: it is unsteady."),
        ((1, 0, 0, 1), "UNPROVEN", "in 2 of 4 looks: it is unsteady."),
        ((1, 0, 1, 1), "UNPROVEN", "in 3 of 4 looks: it is unsteady."),
        ((0, 0, 1, 0), None, "in one of 4 looks alone."),
        ((1, 0), None, "in one of 2 looks alone."),
    ],
)
def test_it_fails_only_if_every_look_is_worse(figure, bads, found, message):
    name, good, bad, unit = figure
    values = [bad if worse else good for worse in bads]
    record = looked(HOST, name, *values)
    judgement = verdict(record)
    assert judgement.verdict == (found or "PASS")
    assert [(flaw.measurement, flaw.uuid, flaw.verdict) for flaw in judgement.flaws] == [(name, G3, found)]
    assert judgement.flaws[0].message.endswith(message)
    then = ", ".join(f"{number:.4g}" for number in values[1:])
    assert f"{name} is {values[0]:.4g}{unit}, then {then}, and the norm is" in judgement.flaws[0].message
    assert evaluate_figures(evaluate_figures(record)) == evaluate_figures(record)
    assert find_failed_gpus(evaluate_figures(record)) == ({G3} if found == "FAIL" else set())


def test_each_look_is_compared_with_the_same_look_at_the_hosts_other_gpus():
    unknown = accepted("gpu-1", kind(4, "NVIDIA Z9"))
    low = looked(unknown, "host_to_device", 54, 40, 40, 40, gpu=None)  # the bus is low for all of them
    assert verdict(low, compared=True).verdict == "PASS"
    assert verdict(looked(low, "host_to_device", 45, 45, 30, 30), compared=True).verdict == "UNPROVEN"
    assert verdict(looked(low, "host_to_device", 45, 30, 30, 30), compared=True).verdict == "FAIL"


@pytest.mark.parametrize(
    "name", ["product_differs", "memory_errors", "ecc_uncorrected", "remap_failed", "nvlink_errors"]
)
def test_an_error_counts_in_whichever_look_it_came(name):
    judgement = verdict(looked(HOST, name, 0, 0, 3, 0))
    assert (judgement.verdict, judgement.flaws[0].measurement) == ("FAIL", name)


def test_what_crosses_pcie_does_not_fail_by_one_look():
    judgement = verdict(looked(HOST, "host_to_device", 38.5))
    assert judgement.verdict == "UNPROVEN"
    assert judgement.cause.endswith("; it was measured once, and copies over PCIe vary.")


def test_a_figure_of_a_later_look_that_cannot_be_proves_nothing():
    judgement = verdict(looked(HOST, "host_to_device", 38.5, 54, -1, 54))
    assert judgement.verdict == "UNPROVEN"
    assert judgement.cause.endswith("which cannot be.")


def test_in_a_fleet_a_gpu_is_as_fast_as_its_best_look():
    fleet = [accepted(f"gpu-{n}", kind(4)) for n in range(1, 5)]

    def found(*values):
        records = [
            evaluate_figures(looked(fleet[0], "host_to_device", *values)),
            *map(evaluate_figures, fleet[1:]),
        ]
        flaws = [flaw for flaw in compare_hosts(records).flaws if flaw.host == "gpu-1"]
        return judge_acceptance(records[0], flaws, compared=True).verdict

    assert found(49, 49, 49, 49) == "FAIL"
    assert found(49, 54, 54, 54) == "PASS"
    assert found(49) == "UNPROVEN"


def test_beside_its_past_a_gpu_is_as_fast_as_its_best_look():
    now = replace(HOST, started="2026-11-23T10:00:00Z")
    (slow,) = find_changes(looked(now, "bf16_matmul", 600, 610, 605, 600), [HOST])
    assert slow.verdict == "FAIL"
    assert list(find_changes(looked(now, "bf16_matmul", 600, 791, 791, 791), [HOST])) == []


def test_the_hosts_own_opinion_counts_for_nothing():
    record = looked(HOST, "host_to_device", 38.5, 38, 38, 38)
    assert verdict(record).verdict == "FAIL"
    (figure,) = (
        m for m in evaluate_figures(record).measurements if (m.name, m.gpu) == ("host_to_device", G3)
    )
    assert [again.holds for again in figure.again] == [False] * 3


def test_who_else_used_the_gpu_and_the_host_is_in_the_finding():
    def look(seconds, load, *processes, **use):
        gpus = (GpuUse(gpu=G3, processes=processes, **use), GpuUse(gpu="GPU-gpu-1-0", utilisation=90.0))
        return Look(seconds=seconds, load=load, cpus=16, before=gpus, after=gpus)

    copy = GpuProcess(pid=7, name="/opt/copy", memory_mib=883)
    top = GpuProcess(pid=8, name="top", memory_mib=None)
    record = looked(HOST, "host_to_device", 38.5, 38, 38, 38)
    busy = replace(record, looks=(look(0.0, 3.0), look(20.0, 9.25, copy, top, pcie_received_mb_s=12345.0)))
    others = (
        "/opt/copy (pid 7, 883 MiB), top (pid 8), 12.3 GB/s over PCIe; the host's load was 9.2 on 16 CPUs."
    )
    assert verdict(busy).cause.endswith(f"in all 4 looks. Others meanwhile: {others}")
    quiet = replace(record, looks=(look(0.0, 3.0), look(20.0, 1.0, pcie_sent_mb_s=1.0, utilisation=0.0)))
    assert verdict(quiet).cause.endswith("nothing was seen on the GPU; the host's load was 3.0 on 16 CPUs.")


@pytest.mark.parametrize(
    ("name", "first", "again"),
    [
        ("host_to_device", 38.5, {"host_to_device"}),
        ("bf16_matmul", 600, {"bf16_matmul"}),
        ("memory_in_use_before", 883, {"memory_in_use_before"}),
        ("pcie_width", 4, set()),
        ("product_differs", 3, set()),
        ("ecc_uncorrected", 1, set()),
    ],
)
def test_what_is_measured_again(name, first, again):
    assert list_doubtful(dump_builtins(looked(HOST, name, first))) == again
    assert list_doubtful(dump_builtins(HOST)) == set()
    wrong = looked(looked(HOST, name, first), "memory_errors", 1, gpu=0)
    assert list_doubtful(dump_builtins(wrong)) == set()
    assert list_doubtful({"schema": "?"}) == set()


@pytest.mark.parametrize(
    ("name", "slow"),
    [
        ("bf16_matmul", True),
        ("pcie_width", True),
        ("memory_in_use_before", True),
        ("xids", False),
        ("memory_errors", False),
        ("ecc_corrected_dram", False),
    ],
)
def test_what_is_only_slow(name, slow):
    bad = 1e9 if name.startswith("ecc") else 3.0 if name in {"xids", "memory_errors", "pcie_width"} else 600.0
    record = looked(HOST, name, bad)
    assert verdict(record).verdict == "FAIL"
    assert is_only_slow(evaluate_figures(record)) is slow
    assert is_only_slow(evaluate_figures(HOST)) is False


def test_a_pair_of_gpus_too():
    def found(*values):
        judgement = verdict(looked(HOST, "peer_copy", *values, peer=2))
        return judgement.verdict, {flaw.verdict for flaw in judgement.flaws}

    assert found(300, 300, 300, 300) == ("FAIL", {"FAIL"})
    assert found(300, 394, 300, 394) == ("UNPROVEN", {"UNPROVEN"})
    assert found(300, 394, 394, 394) == ("PASS", {None})


def test_a_figure_whose_newest_look_is_good_is_not_measured_again():
    assert list_doubtful(dump_builtins(looked(HOST, "host_to_device", 38.5, 54))) == set()
    assert list_doubtful(dump_builtins(looked(HOST, "host_to_device", 38.5, 38.5))) == {"host_to_device"}
    both = looked(looked(HOST, "host_to_device", 38.5, 54), "bf16_matmul", 600, 600)
    assert list_doubtful(dump_builtins(both)) == {"bf16_matmul"}
    other_gpu = looked(looked(HOST, "host_to_device", 38.5, 54), "host_to_device", 54, 38.5, gpu=0)
    assert list_doubtful(dump_builtins(other_gpu)) == {"host_to_device"}
    wrong_later = looked(looked(HOST, "host_to_device", 38.5, 38.5), "memory_errors", 0, 1, gpu=0)
    assert list_doubtful(dump_builtins(wrong_later)) == set()
