# SPDX-License-Identifier: Apache-2.0
"""Preflight on hosts whose nvidia-smi has a fault each, replayed from a host with two H200s."""

import json
import re

import pytest
from lab.gpus import FAULTS, give_gpus
from lab.labs import Lab
from runners.plays import play

from rekindle.records import HostRecord, read_record

REFUSED = {
    "hangs": r"state cannot be known: nvidia-smi -q -x timed out after 60 s\. Fix: ",
    "exits-9": r"No NVIDIA driver is loaded.*status 9: NVIDIA-SMI has failed.* Fix: ",
    "gpu-lost": r"GPU 1 \(00000000:00:07\.0\) is lost: GPU is lost.* Fix: ",
    "ecc-errors": r"GPU 0 .* has 2 uncorrected ECC errors, 0 are allowed\. Fix: ",
    "row-remap-pending": r"GPU 0 .* waits for a row remap\. Fix: ",
    "throttled": r"GPU 0 .* slowed down by its hardware at 35 °C \(hw_thermal_slowdown\)\. Fix: ",
    "driver-mismatch": r"No NVIDIA driver is loaded.*Driver/library version mismatch\. Fix: ",
}
TAKEN = {"healthy", "no-figures", "old-driver"}


@pytest.fixture(scope="module")
def causes(named, tmp_path_factory):
    """Return why each host left preflight, and then the plan, and their results; GPUs are required."""
    lab, results = Lab(named("gpus"), light=True), tmp_path_factory.mktemp("results")
    required, found = ("-e", "rekindle_gpus_required=true"), []
    try:
        lab.up([*FAULTS, "healthy"])
        for name, host in lab.hosts.items():
            give_gpus(host, name if name in FAULTS else None)
        for stage in ("preflight", "plan"):
            done = play(f"playbooks/{stage}.yml", lab.inventory, results, *required)
            assert "Traceback" not in done.output
            rows = json.loads((results / "results.json").read_text())["rows"]
            found.append({row["host"]: row["cause"] for row in rows if row["verdict"] != "READY"})
        yield *found, results
    finally:
        lab.down()


def record(causes, host):
    return read_record(causes[2] / host / "host.json", HostRecord)


def test_every_fault_of_the_stand_in_is_tried(causes):
    assert {*FAULTS, "healthy"} == REFUSED.keys() | TAKEN
    assert causes[0].keys() == REFUSED.keys()


@pytest.mark.parametrize("fault", REFUSED)
def test_it_is_refused_in_a_sentence_and_recorded(causes, fault):
    assert re.search(REFUSED[fault], " ".join(causes[0][fault].split()))
    found = record(causes, fault)
    assert found.problems or found.gpus


def test_healthy_gpus_are_taken(causes):
    gpus = record(causes, "healthy").gpus
    assert [(gpu.name, gpu.state, gpu.compute_capability) for gpu in gpus] == [
        ("NVIDIA H200", "ok", "9.0")
    ] * 2
    assert [problem.name for problem in record(causes, "healthy").problems] == ["cuda"]  # no libcuda here
    assert "healthy" not in causes[1]


def test_figures_that_are_not_there_are_none(causes):
    gpus = record(causes, "no-figures").gpus
    assert [(gpu.state, gpu.memory_total_mib) for gpu in gpus] == [("ok", None)] * 2


def test_an_old_driver_is_recorded_and_the_plan_names_the_one_that_it_needs(causes):
    assert record(causes, "old-driver").driver.version == "470.256.02"
    assert re.search(
        r"needs driver ≥ [\d.]+, this host has 470\.256\.02\. Fix: ",
        " ".join(causes[1]["old-driver"].split()),
    )
