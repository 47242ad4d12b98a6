# SPDX-License-Identifier: Apache-2.0
"""A GPU compared with its own past."""

import pytest
from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, times, value

from rekindle.acceptance import find_changes

THEN = accepted("gpu-1", kind(4))
NOW = replace(THEN, started="2026-11-23T10:00:00Z")


def flaws_of(change, now=NOW, then=(THEN,), name="bf16_matmul"):
    found = find_changes(edited(now, name, change, 2), then)
    return [(flaw.measurement, flaw.gpu, flaw.verdict) for flaw in found]


@pytest.mark.parametrize(
    ("factor", "found"),
    [(0.96, []), (1.04, []), (0.93, [None]), (1.07, [None]), (0.91, [None]), (0.89, ["FAIL"]), (1.2, [None])],
)
def test_five_percent_are_noted_and_ten_fail(factor, found):
    assert flaws_of(times(factor)) == [("bf16_matmul", 2, verdict) for verdict in found]


def test_it_names_the_gpu_both_figures_and_the_day():
    now, then = edited(NOW, "bf16_matmul", value(400.0), 2), edited(THEN, "bf16_matmul", value(800.0))
    (found,) = find_changes(now, [then])
    message = "GPU 2 (GPU-gpu-1-2): bf16_matmul is 400 TFLOP/s, 50.0% worse than the 800"
    assert found.message.startswith(message)
    assert "2026-11-22T10:00:00Z" in found.message


def test_the_newest_before_it_counts_in_whatever_order_they_come():
    old = replace(edited(THEN, "bf16_matmul", times(0.5)), started="2026-11-01T10:00:00Z")
    later = replace(edited(THEN, "bf16_matmul", times(0.5)), started="2026-12-01T10:00:00Z")
    assert flaws_of(times(0.8), then=(THEN, old, later)) == [("bf16_matmul", 2, "FAIL")]
    assert flaws_of(times(0.8), then=(later,)) == []


def test_a_gpu_is_known_by_its_serial_in_another_host_and_under_another_uuid():
    moved = accepted("gpu-2", kind(4), started="2026-11-23T10:00:00Z")
    gpus = tuple(
        replace(gpu, serial=before.serial) for gpu, before in zip(moved.gpus, THEN.gpus, strict=True)
    )
    moved = replace(moved, gpus=gpus)
    assert flaws_of(times(0.5), moved) == [("bf16_matmul", 2, "FAIL")]
    stranger = accepted("gpu-3", kind(4), started="2026-11-23T10:00:00Z")
    assert flaws_of(times(0.5), stranger) == []


@pytest.mark.parametrize("serial", ["0", "0000000000000", "1320021"])
def test_a_serial_that_is_none_is_no_name(serial):
    def same(record):
        return replace(record, gpus=tuple(replace(gpu, serial=serial) for gpu in record.gpus))

    then, now = same(edited(THEN, "bf16_matmul", times(0.5), 3)), same(NOW)
    assert flaws_of(times(1.0), now, (then,)) == [("bf16_matmul", 3, None)]  # it was slow, and is no more
    alone = accepted("gpu-1", kind(1)), accepted("gpu-9", kind(1), started=NOW.started)
    if not serial.strip("0"):
        slow = edited(same(alone[1]), "bf16_matmul", times(0.5), 0)
        assert list(find_changes(slow, [same(alone[0])])) == []


def test_a_gpu_is_known_by_its_uuid_where_one_of_both_records_has_no_serial():
    unnamed = replace(NOW, gpus=tuple(replace(gpu, serial=None) for gpu in NOW.gpus))
    assert flaws_of(times(0.5), unnamed) == [("bf16_matmul", 2, "FAIL")]
    renamed = replace(NOW, gpus=tuple(replace(gpu, serial=f"new {gpu.index}") for gpu in NOW.gpus))
    assert flaws_of(times(0.5), renamed) == [("bf16_matmul", 2, "FAIL")]


def test_pairs_count_too_and_noisy_figures_only_beyond_their_distance():
    slow = edited(NOW, "peer_copy", times(0.8), 2, 3)
    flaws = [(flaw.measurement, flaw.gpu, flaw.verdict) for flaw in find_changes(slow, [THEN])]
    assert flaws == [("peer_copy", 2, "FAIL"), ("peer_copy", 3, "FAIL")]


def test_a_figure_that_was_zero_or_is_missing_does_not_count():
    assert flaws_of(times(0.5), then=(edited(THEN, "bf16_matmul", value(0.0)),)) == []
    assert flaws_of(value(None)) == []


def test_a_link_that_lost_a_lane_fails():
    assert flaws_of(value(17), name="nvlinks_up") == [("nvlinks_up", 2, "FAIL")]
