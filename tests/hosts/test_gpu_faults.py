"""Preflight on a host whose nvidia-smi has something to say, replayed from a host with two H200s."""

import re

import pytest
from lab.gpus import FAULTS, give_gpus
from lab.labs import Lab
from plays import play

from rekindle.records import HostRecord, read

REFUSED = {
    "hangs": r"state cannot be known: nvidia-smi -q -x timed out after 60 s\. Fix: ",
    "exits-9": r"No NVIDIA driver is loaded.*status 9: NVIDIA-SMI has failed.* Fix: ",
    "gpu-lost": r"GPU 1 \(00000000:00:07\.0\) is lost: GPU is lost.* Fix: ",
    "ecc-errors": r"GPU 0 .* has 2 uncorrected ECC errors, 0 are allowed\. Fix: ",
    "row-remap-pending": r"GPU 0 .* waits for a row remap\. Fix: ",
    "throttled": r"GPU 0 .* slowed down by its hardware at 35 °C \(hw_thermal_slowdown\)\. Fix: ",
    "driver-mismatch": r"No NVIDIA driver is loaded.*Driver/library version mismatch\. Fix: ",
}
TAKEN = {None, "no-figures", "old-driver"}


@pytest.fixture(scope="module")
def lab(named):
    """Return a lab of one host."""
    lab = Lab(named("gpus"))
    try:
        lab.up(["leased"])
        yield lab
    finally:
        lab.down()


@pytest.fixture
def stage(lab, tmp_path):
    """Run a stage on the host with a fault; GPUs are required."""

    def run(name, fault):
        give_gpus(lab.hosts["leased"], fault)
        required = ("-e", "rekindle_gpus_required=true")
        return play(f"playbooks/{name}.yml", lab.inventory, tmp_path / "r", *required)

    return run


def record(done):
    return read(done.results / "leased" / "host.json", HostRecord)


def test_every_fault_of_the_stand_in_is_tried():
    assert {*FAULTS, None} == REFUSED.keys() | TAKEN


@pytest.mark.parametrize("fault", REFUSED)
def test_it_is_refused_in_a_sentence_and_recorded(stage, fault):
    done = stage("preflight", fault)
    assert done.status != 0
    assert re.search(REFUSED[fault], " ".join(done.output.replace("''", "'").split()))
    assert "Traceback" not in done.output
    found = record(done)
    assert found.problems or found.gpus


def test_healthy_gpus_are_taken(stage):
    done = stage("preflight", None)
    assert done.status == 0, done.output
    assert [(gpu.name, gpu.state, gpu.compute_capability) for gpu in record(done).gpus] == [
        ("NVIDIA H200", "ok", "9.0")
    ] * 2
    assert record(done).problems == ()


def test_figures_that_are_not_there_are_none(stage):
    done = stage("preflight", "no-figures")
    assert done.status == 0, done.output
    assert [(gpu.state, gpu.memory_total_mib) for gpu in record(done).gpus] == [("ok", None)] * 2


def test_an_old_driver_is_recorded_and_the_plan_says_which_would_do(stage):
    done = stage("preflight", "old-driver")
    assert done.status == 0, done.output
    assert record(done).driver.version == "470.256.02"
    planned = stage("plan", "old-driver")
    assert planned.status != 0
    assert re.search(
        r"needs driver ≥ [\d.]+, this host has 470\.256\.02\. Fix: ", " ".join(planned.output.split())
    )
