# SPDX-License-Identifier: Apache-2.0
"""One host's figures against norms and each other, and its verdict."""

import pytest
from msgspec.structs import replace
from samples.fleets import accepted, edited, kind, times, value

from rekindle.acceptance import evaluate_figures, find_failed_gpus, judge_acceptance
from rekindle.acceptance.catalogue import load_measures, load_norms
from rekindle.records import Measurement
from rekindle.records.acceptance import LaterLook

HOST = accepted("gpu-1", kind(4))
G3 = "GPU-gpu-1-3"


def verdict(record, **rest):
    return judge_acceptance(evaluate_figures(record), **rest)


def of(record, name):
    return [figure for figure in evaluate_figures(record).measurements if figure.name == name]


def without(*names):
    return replace(
        HOST, measurements=tuple(figure for figure in HOST.measurements if figure.name not in names)
    )


def test_a_healthy_host_of_a_known_model_passes():
    judgement = verdict(HOST)
    assert (judgement.verdict, judgement.cause, judgement.flaws) == ("PASS", None, ())


def test_evaluating_twice_changes_nothing():
    noted = edited(HOST, "bf16_matmul", value(790.0, message="On NUMA node 1."), 0)
    once = evaluate_figures(noted)
    assert evaluate_figures(once) == once
    message = of(noted, "bf16_matmul")[0].message
    assert "790 TFLOP/s, and the norm is at least 754.3 (stas00/ml-engineering" in message
    assert message.endswith("As measured: On NUMA node 1.")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("bf16_matmul", times(0.9)),
        ("tf32_matmul", times(0.9)),
        ("fp16_matmul", times(0.9)),
        ("device_copy", times(0.9)),
        ("host_to_device", value(38.0, again=(LaterLook(value=39.0),))),
        ("device_to_host", value(38.0, again=(LaterLook(value=39.0),))),
        ("peer_copy", times(0.8)),
        ("product_differs", value(1)),
        ("memory_errors", value(1)),
        ("collective_errors", value(1)),
        ("bf16_matmul_sustained", times(0.89)),
        ("pcie_generation", value(4)),
        ("pcie_width", value(8)),
        ("nvlinks_up", value(17)),
        ("nvlinks_up", value(0)),
        ("nvlink_errors", value(1)),
        ("ecc_uncorrected", value(1)),
        ("ecc_corrected_dram", value(2e7 + 1)),
        ("ecc_corrected_sram", value(1e4 + 1)),
        ("remap_pending", value(1)),
        ("remap_failed", value(1)),
        ("xids", value(1)),
        ("memory_in_use_before", value(16)),
        ("utilisation_before", value(50)),
        ("throttled", value(61)),
    ],
)
def test_a_gpu_that_fails_is_named(name, change):
    record = edited(HOST, name, change, 3)
    judgement = verdict(record)
    assert judgement.verdict == "FAIL"
    assert {(flaw.measurement, flaw.gpu, flaw.uuid) for flaw in judgement.flaws} == {(name, 3, G3)}
    assert f"GPU 3 ({G3})" in judgement.cause
    assert name in judgement.cause
    assert find_failed_gpus(evaluate_figures(record)) == {G3}


@pytest.mark.parametrize(("name", "change"), [("fabric_manager", value(0)), ("all_reduce", times(0.85))])
def test_what_fails_of_all_gpus_leaves_none(name, change):
    record = edited(HOST, name, change)
    judgement = verdict(record)
    assert (judgement.verdict, {flaw.measurement for flaw in judgement.flaws}) == ("FAIL", {name})
    assert find_failed_gpus(evaluate_figures(record)) == {gpu.uuid for gpu in record.gpus}


def test_every_norm_has_a_source_and_every_measure_that_must_be_zero_has_a_norm():
    assert all(norm.source and norm.name in load_measures() for norm in load_norms().norms)
    zero = {name for name, measure in load_measures().items() if measure.better == "zero"}
    assert zero == {norm.name for norm in load_norms().norms if norm.value == 0}
    measured = [norm for norm in load_norms().norms if "measured" in norm.source and norm.value]
    assert all(norm.margin for norm in measured if load_measures()[norm.name].fault == "speed")


@pytest.mark.parametrize(
    "other",
    [{"topology": "SYS"}, {"count": 3}, {"nvls": True}, {"nvls": None}, {"model": "NVIDIA H200 NVL"}],
)
def test_a_norm_of_another_kind_of_host_is_not_applied(other):
    assert [figure.norm for figure in of(HOST, "all_reduce")] == pytest.approx([295.2, 317.7])
    record = replace(HOST, kind=replace(HOST.kind, **other))
    assert [(figure.norm, figure.holds) for figure in of(record, "all_reduce")] == [(None, None)] * 2
    other_size = edited(HOST, "all_reduce", lambda _: {"size": 64 << 20})
    assert {figure.norm for figure in of(other_size, "all_reduce")} == {None}


def test_a_wrong_result_comes_before_a_slow_one():
    record = edited(edited(HOST, "bf16_matmul", times(0.5), 0), "product_differs", value(3), 2)
    judgement = verdict(record)
    assert judgement.cause.startswith("GPU 2 (GPU-gpu-1-2): product_differs is 3 values")
    assert judgement.cause.endswith("(and 1 more).")
    assert "stas00" not in " ".join(flaw.message for flaw in judgement.flaws)
    assert "another host" in judgement.remedy


@pytest.mark.parametrize(
    "name", [name for name, measure in load_measures().items() if measure.required not in {None, "never"}]
)
def test_what_has_to_be_measured_and_was_not_leaves_it_unproven(name):
    mode = "burn" if load_measures()[name].required == "burn" else "short"
    judgement = verdict(replace(without(name), mode=mode))
    assert judgement.verdict == "UNPROVEN"
    assert f"{name} was not measured" in " ".join(flaw.message for flaw in judgement.flaws)


def test_a_burn_takes_sustained_products_and_how_clocks_and_temperatures_change():
    burn = replace(without("bf16_matmul", "fp16_matmul", "tf32_matmul"), mode="burn")
    assert verdict(burn).verdict == "UNPROVEN"
    slopes = tuple(
        Measurement(name=name, gpu=gpu.uuid, value=-0.1, unit="", message="")
        for gpu in HOST.gpus
        for name in ("clock_slope", "temperature_slope")
    )
    assert verdict(replace(burn, measurements=(*burn.measurements, *slopes))).verdict == "PASS"


def test_why_a_figure_is_missing_is_reported():
    judgement = verdict(edited(HOST, "xids", value(None, message="The kernel log may not be read."), 1))
    assert judgement.verdict == "UNPROVEN"
    assert judgement.cause == "GPU 1 (GPU-gpu-1-1): xids was not measured: The kernel log may not be read."


def test_memory_that_was_not_tested_completely_is_unproven():
    judgement = verdict(edited(HOST, "memory_tested", value(60), 2))
    assert (judgement.verdict, judgement.flaws[0].gpu) == ("UNPROVEN", 2)


def test_no_gpu_and_too_few_of_them_prove_nothing():
    none = replace(HOST, gpus=(), measurements=())
    assert verdict(none).verdict == "UNPROVEN"
    seven = replace(HOST, kind=replace(HOST.kind, count=5))
    assert "5 GPUs were to be measured, and 4 were" in verdict(seven).cause


def test_an_unknown_model_alone_is_unproven_for_speed():
    record = accepted("gpu-1", kind(4, "NVIDIA Z9"))
    judgement = verdict(record)
    assert judgement.verdict == "UNPROVEN"
    assert "No norm is known for 4 × NVIDIA Z9" in judgement.cause
    assert verdict(record, compared=True).verdict == "PASS"


def test_a_gpu_of_an_unknown_model_that_is_slower_than_the_hosts_others_fails():
    record = edited(accepted("gpu-1", kind(4, "NVIDIA Z9")), "fp16_matmul", times(0.9), 1)
    judgement = verdict(record)
    assert (judgement.verdict, judgement.flaws[0].gpu) == ("FAIL", 1)
    assert "worse than the host's median" in judgement.cause


def test_pairs_that_a_host_has_by_its_build_are_no_faults():
    record = accepted("gpu-1", kind(8, "NVIDIA Z9"))
    for gpu in range(0, 8, 2):  # bridges between neighbours alone
        record = edited(record, "peer_copy", times(10), gpu, gpu + 1)
    assert verdict(record, compared=True).verdict == "PASS"
    record = accepted("gpu-1", kind(8, "NVIDIA Z9"))
    for gpu in range(4):  # two sockets
        record = edited(record, "host_to_device", times(0.8), gpu)
    assert verdict(record, compared=True).verdict == "PASS"


def test_gpus_of_two_models_are_not_compared():
    gpus = tuple(replace(gpu, name="NVIDIA Z8" if gpu.index % 2 else "NVIDIA Z9") for gpu in HOST.gpus)
    record = replace(HOST, gpus=gpus, kind=replace(HOST.kind, model="NVIDIA Z8 + NVIDIA Z9"))
    for index in (1, 3):
        record = edited(record, "fp16_matmul", times(0.5), index)
    assert verdict(record, compared=True).verdict == "PASS"
    flaws = verdict(edited(record, "fp16_matmul", times(0.5), 2)).flaws
    assert {flaw.gpu for flaw in flaws if flaw.uuid} == {2}


@pytest.mark.parametrize(
    ("codes", "message", "found"),
    [
        ((79.0,), "restart the host", "FAIL"),
        ((43.0,), "asks nothing for it", "PASS"),
        ((31.0, 92.0), "", "PASS"),
        ((9999.0,), "look it up", "FAIL"),
        ((43.0, 48.0), "double bit ECC error", "FAIL"),
    ],
)
def test_xids_are_judged_by_their_catalog(codes, message, found):
    record = edited(HOST, "xids", value(float(len(codes)), series=codes), 2)
    assert verdict(record).verdict == found
    assert message in " ".join(figure.message for figure in of(record, "xids"))


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("memory_errors", -1.0),
        ("product_differs", -1e100),
        ("xids", -3.0),
        ("ecc_uncorrected", -1.0),
        ("memory_tested", 101.0),
        ("bf16_matmul", 1e100),
        ("device_copy", -4000.0),
        ("utilisation_before", 4e9),
    ],
)
def test_a_figure_that_cannot_be_proves_nothing_and_blames_nobody_else(name, figure):
    judgement = verdict(edited(HOST, name, value(figure), 2))
    assert judgement.verdict == "UNPROVEN"
    assert {(flaw.gpu, flaw.measurement) for flaw in judgement.flaws} == {(2, name)}
    assert judgement.cause.endswith(", which cannot be.")
    strange = edited(accepted("gpu-1", kind(2, "NVIDIA Z9")), name, value(figure), 1)
    judgement = verdict(strange, compared=True)
    assert {(flaw.gpu, flaw.measurement) for flaw in judgement.flaws} == {(1, name)}


@pytest.mark.parametrize(
    "name", ["bf16_matmul", "pcie_width", "nvlink_errors", "ecc_uncorrected", "throttled"]
)
def test_what_one_gpu_lacks_and_the_others_of_its_model_have_is_unproven(name):
    judgement = verdict(edited(HOST, name, value(None, message="No answer."), 3))
    assert (judgement.verdict, [flaw.gpu for flaw in judgement.flaws]) == ("UNPROVEN", [3])
    left = tuple(figure for figure in HOST.measurements if (figure.name, figure.gpu) != (name, G3))
    judgement = verdict(replace(HOST, measurements=left))
    assert (judgement.verdict, {flaw.gpu for flaw in judgement.flaws} - {None}) == ("UNPROVEN", {3})
    assert verdict(without("ecc_uncorrected")).verdict == "PASS"


def test_a_collective_that_was_not_measured_on_one_gpu_and_at_one_size_is_unproven():
    errors = next(figure for figure in of(HOST, "collective_errors") if figure.gpu == G3)
    sizes = [
        replace(errors, gpu=gpu.uuid, size=size) for gpu in HOST.gpus for size in (1 << 20, 1 << 20, 1 << 30)
    ]
    assert verdict(replace(HOST, measurements=(*HOST.measurements, *sizes))).verdict == "PASS"
    for place, missing in enumerate(sizes):
        left = sizes[:place] + sizes[place + 1 :]
        judgement = verdict(replace(HOST, measurements=(*HOST.measurements, *left)))
        assert (judgement.verdict, {flaw.uuid for flaw in judgement.flaws}) == ("UNPROVEN", {missing.gpu})


def test_a_record_that_contradicts_itself_proves_nothing():
    twice = replace(HOST, gpus=(HOST.gpus[0], *HOST.gpus[:3]))
    assert "4 GPUs were to be measured, and 3 were." in verdict(twice).cause
    other = replace(HOST, gpus=(*HOST.gpus[:3], replace(HOST.gpus[3], name="NVIDIA L4")))
    judgement = verdict(other)
    assert judgement.verdict == "UNPROVEN"
    assert "measured as NVIDIA H200, and its GPUs are NVIDIA H200 + NVIDIA L4" in judgement.cause


def test_an_unknown_measurement_changes_nothing():
    strange = Measurement(name="warp_drive", value=1.0, unit="c", message="Fast.", gpu="GPU-?", holds=True)
    record = replace(HOST, measurements=(*HOST.measurements, strange))
    assert evaluate_figures(record).measurements[-1] == replace(strange, holds=None)
    assert verdict(record).verdict == "PASS"


def test_hostile_texts_and_figures_are_data():
    evil = "\x1b[31m<script>" + "x" * 3000
    record = edited(HOST, "bf16_matmul", value(-1e100, message=evil, gpu=evil, source=evil, norm=0.0), 1)
    record = replace(record, host=evil, kind=replace(record.kind, model=evil))
    record = edited(record, "all_reduce", value(1e100, size=-(1 << 53)))
    assert verdict(record).verdict == "UNPROVEN"
    record = edited(HOST, "pcie_width", value(0, norm=-1e100, gpu="", source=evil), 1)
    assert all(len(flaw.message) <= 4000 for flaw in verdict(record).flaws)


@pytest.mark.parametrize(
    ("name", "figure", "series", "action"),
    [
        ("product_differs", 3, (), "REPLACE"),
        ("ecc_uncorrected", 1, (), "RESET_GPU"),
        ("remap_pending", 1, (), "RESET_GPU"),
        ("bf16_matmul", 400, (), "DRAIN"),
        ("throttled", 90, (), "DRAIN"),
        ("memory_in_use_before", 900, (), "RETEST"),
        ("xids", 1, (79,), "REBOOT"),
        ("xids", 2, (13, 95), "RESET_GPU"),
        ("xids", 2, (95, 79, 74), "DRAIN"),
        ("xids", 1, (78,), "UPDATE_DRIVER"),
        ("xids", 1, (45,), "RETEST"),
        ("xids", 1, (999,), "DRAIN"),
        ("xids", 1, (31,), "NONE"),
        ("xids", 1, (69,), "NONE"),
    ],
)
def test_a_finding_has_an_action_and_a_host_the_most_severe(name, figure, series, action):
    host = accepted("gpu-1", kind(4))
    record = edited(host, name, value(figure, series=tuple(map(float, series))), 3)
    judgement = judge_acceptance(evaluate_figures(record))
    assert judgement.action == action
    assert [flaw.action for flaw in judgement.flaws] == ([action] if action != "NONE" else [])
    worse = judge_acceptance(evaluate_figures(edited(record, "memory_errors", value(4), 0)))
    assert worse.action == "REPLACE"


def test_what_is_slow_beside_others_is_measured_again():
    slow = edited(accepted("gpu-1", kind(4)), "bf16_matmul", value(400), 3)
    busy = edited(slow, "utilisation_before", value(99), 3)
    assert judge_acceptance(evaluate_figures(slow)).action == "DRAIN"
    assert judge_acceptance(evaluate_figures(busy)).action == "RETEST"
    assert judge_acceptance(evaluate_figures(edited(busy, "memory_errors", value(1), 0))).action == "REPLACE"


def test_what_is_not_known_is_measured_again_and_what_is_noted_asks_for_nothing():
    host = accepted("gpu-1", kind(4))
    once = judge_acceptance(evaluate_figures(edited(host, "host_to_device", value(38.5), 3)))
    assert (once.verdict, once.action) == ("UNPROVEN", "RETEST")
    assert judge_acceptance(evaluate_figures(host)).action == "NONE"
    good = (LaterLook(value=54),)
    noted = judge_acceptance(evaluate_figures(edited(host, "host_to_device", value(38.5, again=good), 3)))
    assert (noted.verdict, noted.action, [flaw.action for flaw in noted.flaws]) == ("PASS", "NONE", ["NONE"])
