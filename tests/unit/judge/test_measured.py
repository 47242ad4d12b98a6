# SPDX-License-Identifier: Apache-2.0
"""The judge on runs that measured their host: two H200s by themselves, and with one that others keep busy."""

import shutil

import pytest
from msgspec.structs import replace
from samples.edits import each_event, edit, events

from rekindle.judge import judge_run
from rekindle.judge.measurements import describe_judgement, judge_measurements
from rekindle.judge.opener import open_run
from rekindle.records import Clock, RecordError, write_record
from rekindle.records.layout import spec_in

FIGURES = "evidence/acceptance.jsonl"


@pytest.fixture
def run(recordings, tmp_path):
    """Return a copy of the acceptance of a healthy host."""
    return shutil.copytree(recordings / "acceptance" / "h200-x2", tmp_path / "run")


def of_record(change):
    """Return what alters the record of a run."""
    return each_event(FIGURES, lambda event: change(event["record"]))


def of_figures(name, **fields):
    """Return what alters all figures of one name."""

    def change(record):
        found = [figure for figure in record["measurements"] if figure["name"] == name]
        assert found
        for figure in found:
            figure.update(fields)

    return of_record(change)


def without(name):
    """Return what drops all figures of one name."""

    def change(record):
        record["measurements"] = [figure for figure in record["measurements"] if figure["name"] != name]

    return of_record(change)


def of_samples(change):
    """Return what alters each GPU in each sample."""
    return each_event("samples.jsonl", lambda sample: [change(gpu) for gpu in sample["gpus"].values()])


def of_another_run(run):
    """Record the figures under another nonce."""
    events(run / FIGURES, lambda event: event | {"nonce": "0" * 32})


def twice(run):
    """Record the figures twice."""
    (run / FIGURES).write_text((run / FIGURES).read_text() * 2)


def slow_looks(*values):
    """Return what has copies be slow in the first look, and in further ones these."""
    more = {"again": [{"value": value} for value in values]} if values else {}
    return of_figures("host_to_device", value=38.5, **more)


LIES = {
    "nothing was measured": (lambda run: (run / FIGURES).unlink(), "UNPROVEN"),
    "it is recorded twice": (twice, "UNPROVEN"),
    "it is of another run": (of_another_run, "UNPROVEN"),
    "it is of another host": (of_record(lambda record: record.update(host="x")), "UNPROVEN"),
    "a GPU was left out": (of_record(lambda record: record["gpus"].pop()), "UNPROVEN"),
    "the memory was not tested": (without("memory_tested"), "UNPROVEN"),
    "a product is wrong": (of_figures("product_differs", value=7.0), "FAIL"),
    "products are slow": (of_figures("bf16_matmul", value=600.0), "FAIL"),
    "copies are slow in every look": (slow_looks(38.0, 47.0, 40.0), "FAIL"),
    "copies are unsteady": (slow_looks(54.0, 47.0, 54.0), "UNPROVEN"),
    "copies are slow once": (slow_looks(), "UNPROVEN"),
    "a link is narrow": (of_figures("pcie_width", value=4.0), "FAIL"),
    "a lane is down": (of_figures("nvlinks_up", value=17.0), "FAIL"),
    "the fabric manager is down": (of_figures("fabric_manager", value=0.0), "FAIL"),
    "the driver reported an error": (of_samples(lambda gpu: gpu.update(xids=[79])), "FAIL"),
    "nobody could watch for errors": (of_samples(lambda gpu: gpu.update(xids=None)), "UNPROVEN"),
}


def test_a_healthy_host_passes(run):
    verdict = judge_run(run)
    assert (verdict.verdict, verdict.cause, verdict.remedy) == ("PASS", None, None)
    assert [device.name for device in verdict.devices] == ["NVIDIA H200"] * 2
    assert verdict.flaw("h200", "acceptance") is None


def test_copies_that_were_slow_once_of_four_times_are_noted(run):
    later = [{"value": value, "holds": False} for value in (54.0, 53.0, 54.5)]
    of_figures("host_to_device", value=38.5, again=later)(run)
    assert judge_run(run).verdict == "PASS"
    notes = [flaw.message for flaw in describe_judgement(open_run(run)).flaws]
    assert len(notes) == 2
    assert all("is 38.5 GB/s, then 54, 53, 54.5, and" in note for note in notes)
    assert all(note.endswith("in one of 4 looks alone.") for note in notes)


@pytest.mark.parametrize(
    ("lie", "required"),
    [("copies are unsteady", False), ("nobody could watch for errors", True), ("a product is wrong", True)],
)
def test_figures_that_are_unsteady_fail_no_playbook(run, lie, required):
    LIES[lie][0](run)
    spec = spec_in(run)
    spec = replace(spec, job=replace(spec.job, required=True))
    assert judge_run(run, spec).required is required


@pytest.mark.parametrize("lie", LIES)
def test_a_host_that_is_not_fit_or_not_measured_is_no_pass(golden, run, lie):
    change, kind = LIES[lie]
    change(run)
    verdict = judge_run(run)
    assert verdict.verdict == kind
    golden(verdict.cause, verdict.remedy)


def test_copies_that_are_slow_in_one_of_four_looks_condemn_no_gpu(recordings):
    run = open_run(recordings / "acceptance" / "h100-x2-noisy")
    figures = judge_measurements(run).measurements
    looks = [(figure.name, [look.holds for look in (figure, *figure.again)]) for figure in figures]
    assert [(name, held) for name, held in looks if False in held] == [
        ("host_to_device", [True, False, True, True]),
        ("device_to_host", [False, True, True, True]),
        ("host_to_device", [True, True, True, False]),
    ]
    (accepted,) = (result for result in judge_run(run.folder).evidence if result.claim == "gpus_accepted")
    assert accepted.state == "holds"


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "reduce_scatter"])
@pytest.mark.parametrize("host", ["h200-x4", "h200-x8"])
def test_a_host_of_h200s_is_held_against_norms_of_as_many(recordings, tmp_path, host, name):
    run = shutil.copytree(recordings / "acceptance" / host, tmp_path / "run")
    assert judge_run(run).verdict == "PASS"
    of_figures(name, value=250.0)(run)
    assert f"iB: {name} is 250 GB/s, and the norm is at least" in judge_run(run).cause


def test_who_keeps_a_gpu_busy_is_reported(recordings):
    verdict = judge_run(recordings / "acceptance" / "h200-x2-cotenant")
    assert verdict.verdict == "FAIL"
    assert verdict.cause.startswith("GPU 0 (GPU-19de3001-8d73-4ae4-9b56-b24f5d92ddff): memory_in_use_before")
    assert verdict.remedy == "End what runs there, and accept the host again."
    assert verdict.action == "RETEST"


def test_measuring_that_failed_has_its_output_as_cause(run):
    (run / FIGURES).unlink()
    edit(run / "ended.json", r'("exit_status": )\d+', r"\g<1>1")
    (run / "job.log").write_text("The process of GPU 1 ended with status 1.\n")
    verdict = judge_run(run)
    assert verdict.verdict == "FAIL"
    assert "The process of GPU 1 ended with status 1." in verdict.cause


@pytest.mark.parametrize(
    ("offset_s", "error_s", "verdict", "noted"),
    [
        (0.04, 0.05, "PASS", False),
        (-1.5, 0.6, "PASS", False),
        (-30.0, 0.05, "PASS", True),
        (-300.2, 0.1, "FAIL", True),
        (5000.0, 1.0, "FAIL", True),
        (5000.0, 4990.0, "PASS", True),
    ],
)
def test_a_clock_counts_by_the_least_that_it_is_off(run, offset_s, error_s, verdict, noted):
    write_record(run / "clock.json", Clock(offset_s=offset_s, error_s=error_s, asked="2026-11-25T22:28:00Z"))
    assert judge_run(run).verdict == verdict
    flaws = [flaw for flaw in describe_judgement(open_run(run)).flaws if flaw.measurement == "clock_offset"]
    assert [flaw.message.startswith("The host: clock_offset is ") for flaw in flaws] == [True] * noted
    assert all("NTP" in flaw.remedy for flaw in flaws)


def test_the_clock_that_a_host_claims_for_itself_does_not_count(run):
    mine = {"name": "clock_offset", "value": 0.0, "unit": "s", "message": "I am right."}
    of_record(lambda record: record["measurements"].append(mine))(run)
    assert "clock_offset" not in {figure.name for figure in judge_measurements(open_run(run)).measurements}
    write_record(run / "clock.json", Clock(offset_s=900.0, error_s=0.1, asked="2026-11-25T22:28:00Z"))
    assert judge_run(run).verdict == "FAIL"
    (run / "clock.json").write_text("{}")
    assert judge_run(run).verdict == "UNPROVEN"


def test_it_began_by_the_controllers_clock(run):
    assert judge_measurements(open_run(run)).started == "2026-11-23T02:26:09Z"
    write_record(run / "clock.json", Clock(offset_s=86400.0, error_s=0.1, asked="2026-11-25T22:28:00Z"))
    assert judge_measurements(open_run(run)).started == "2026-11-22T02:26:09Z"
    write_record(run / "clock.json", Clock(offset_s=1e99, error_s=0.1, asked="2026-11-25T22:28:00Z"))
    with pytest.raises(RecordError):
        judge_measurements(open_run(run))
    assert judge_run(run).verdict == "UNPROVEN"
    write_record(run / "clock.json", Clock(offset_s=4e9, error_s=0.1, asked="2026-11-25T22:28:00Z"))
    assert "is no time from 1970 to 2099" in judge_run(run).cause
    of_record(lambda record: record.update(started="9999"))(run)
    assert judge_run(run).verdict == "UNPROVEN"


def test_what_watched_for_errors_is_reported(run):
    def message():
        figures = judge_measurements(open_run(run)).measurements
        return next(figure.message for figure in figures if figure.name == "xids")

    of_samples(lambda gpu: gpu.pop("xids_by"))(run)  # an older driver reported none
    assert message().endswith("looks of the driver's sampler")
    of_samples(lambda gpu: gpu.update(xids_by=["NVML", "kernel"]))(run)
    assert message().endswith("looks of the driver's sampler, by NVML's events and the kernel's log")
