# SPDX-License-Identifier: Apache-2.0
"""What nvidia-smi's XML has that keeps CUDA from starting: each is an edit of a recorded host."""

import re

import pytest
from answers import XML, host
from msgspec.structs import replace

from rekindle.gpus.obstacles import OBSTACLES
from rekindle.hostfacts import find_unmet, list_warnings
from rekindle.hostfacts.frames import Frame
from rekindle.records import FailedProbe

LICENCE = (
    "<vgpu_software_licensed_product><license_status>{}</license_status></vgpu_software_licensed_product>"
)
RESET = "<gpu_reset_status><{0}>Yes</{0}></gpu_reset_status>"
GUEST = ("virtualization_mode", "VGPU")


def with_xml(*edits, added=""):
    """Return the recorded host after edits of its first GPU: the tag of a field, its new text."""
    xml = XML
    for field, text in edits:
        outer, _, tag = field.rpartition("/")
        pattern = rf"(<{tag}>)[^<]*()"
        if outer:
            pattern = rf"(<{outer}>(?:(?!</{outer}>)[\s\S])*<{tag}>)[^<]*()"
        assert re.search(pattern, xml)
        xml = re.sub(pattern, rf"\g<1>{text}\2", xml, count=1)
    return host(nvidia_smi=xml.replace("<pci>", f"{added}<pci>", 1))


REFUSED = [
    ([("compute_mode", "Prohibited")], "", "is in compute mode Prohibited"),
    ([("compute_mode", "prohibited")], "", "is in compute mode prohibited"),
    ([("fabric/state", "in progress")], "", "joined the NVSwitch fabric (in progress)"),
    ([("virtualization_mode", "vGPU")], LICENCE.format("unlicensed"), "without a licence (unlicensed)"),
    (
        [("fabric/state", "In Progress"), ("fabric/status", "N/A")],
        "",
        "joined the NVSwitch fabric (In Progress)",
    ),
    ([("fabric/state", "Not Started")], "", "has not begun to join the NVSwitch fabric"),
    ([("fabric/status", "Insufficient Resources")], "", "could not join the NVSwitch fabric: Insufficient"),
    ([("health/summary", "Unhealthy")], "", "has an unhealthy NVSwitch fabric"),
    ([("health/route_unhealthy", "True")], "", "has a route of its fabric that fails"),
    ([("health/route_recovery_in_progress", "True")], "", "waits until a route of its fabric has recovered"),
    ([("health/access_timeout_recovery", "True")], "", "fabric has recovered from a timeout"),
    ([("health/incorrect_configuration", "Incorrect SysGUID")], "", "configured wrongly: Incorrect SysGUID"),
    ([GUEST], LICENCE.format("Unlicensed (Restricted)"), "without a licence (Unlicensed (Restricted))"),
    ([GUEST], LICENCE.format("Expired"), "without a licence (Expired)"),
    ([GUEST], "", "is a vGPU without a licence (none is shown)"),
    ([("virtualization_mode", "Host VGPU")], "", "is lent to virtual machines (Host VGPU)"),
    ([], RESET.format("reset_required"), "needs a reset."),
    ([], RESET.format("drain_and_reset_recommended"), "needs a reset as soon as nothing runs on it"),
    ([("pending_retirement", "Yes")], "", "waits for the retirement of a memory page"),
    ([("pending_blacklist", "Yes")], "", "waits for the retirement of a memory page"),
    ([("channel_repair_pending", "Yes")], "", "waits for the repair of its memory"),
    ([("tpc_repair_pending", "Yes")], "", "waits for the repair of a TPC"),
    ([("unrepairable_memory", "Yes")], "", "has memory that cannot be repaired"),
]
WARNED = [
    ([("compute_mode", "Exclusive_Process")], "is in compute mode Exclusive_Process"),
    ([("health/bandwidth", "Degraded")], "less bandwidth to the fabric"),
    ([("health/summary", "Limited Capacity")], "fabric of limited capacity"),
    ([("sram_threshold_exceeded", "Yes")], "more uncorrected errors of its SRAM"),
    ([("pending_mig", "Enabled")], "has MIG mode Enabled from its next reset"),
    ([("pending_ecc", "Disabled")], "has ECC Disabled from its next reset"),
]


def unmet_of(found):
    return find_unmet(found, gpus_required=True, min_free_gb=20)


def refusals(found):
    return list(map(str, unmet_of(found)))


@pytest.mark.parametrize(("edits", "added", "message"), REFUSED)
def test_a_gpu_on_which_cuda_does_not_start_is_refused(edits, added, message):
    (sentence,) = refusals(with_xml(*edits, added=added))
    assert message in sentence
    assert sentence.startswith("GPU 0 (GPU-95834940-9633-43b7-5054-558dc30a66c9)")
    assert re.search(r"\. Fix: [^{}]+\.$", sentence)


@pytest.mark.parametrize(("edits", "message"), WARNED)
def test_a_gpu_that_can_be_used_with_care_is_a_warning(edits, message):
    found = with_xml(*edits)
    assert refusals(found) == []
    (sentence,) = map(str, list_warnings(found))
    assert message in sentence


def test_every_obstacle_has_a_host_that_shows_it():
    hosts = [with_xml(*edits, added=added) for edits, added, _ in REFUSED]
    hosts += [with_xml(*edits) for edits, _ in WARNED]
    told = [complaint.message for found in hosts for complaint in (*unmet_of(found), *list_warnings(found))]
    for obstacle in OBSTACLES:
        pattern = re.sub(r"\\{\w+\\}", ".+", re.escape(obstacle.message))
        assert any(re.fullmatch(pattern, message) for message in told), obstacle.message


@pytest.mark.parametrize(
    ("edits", "added"),
    [
        ([("fabric/state", "N/A"), ("fabric/status", "N/A")], ""),
        ([("fabric/state", "Not Supported")], ""),
        ([("virtualization_mode", "None")], LICENCE.format("Unlicensed")),
        ([], LICENCE.format("Unlicensed (Unrestricted)")),  # passed through: CUDA needs none
        ([GUEST], LICENCE.format("Licensed (Expiry: 2026-7-7 16:1:44 GMT)")),
        ([("health/incorrect_configuration", "None"), ("health/summary", "Healthy")], ""),
        ([], RESET.format("reset_required").replace("Yes", "Requested functionality has been deprecated")),
        ([("pending_ecc", "N/A"), ("pending_mig", "N/A")], ""),
    ],
)
def test_a_gpu_that_other_hosts_show_so_in_health_is_accepted(edits, added):
    found = with_xml(*edits, added=added)
    assert refusals(found) == [] == list_warnings(found)


def test_a_corrupted_inforom_is_a_warning_in_nvidia_smis_words():
    words = "WARNING: infoROM is corrupted at gpu 00000000:00:06.0"
    for text in (f"{XML}\n{words}\n", f"{words}\n{XML}"):
        found = host(nvidia_smi=Frame("14", text))
        assert refusals(found) == []
        assert [complaint.message for complaint in list_warnings(found)] == [
            f"nvidia-smi -q -x ended with status 14: {words}."
        ]
    beside = host(nvidia_smi=Frame("0", f"hello\n{XML}\n  {words}\n"))
    assert refusals(beside) == []
    assert [complaint.message for complaint in list_warnings(beside)] == [f"nvidia-smi -q -x warns: {words}."]
    (bare,) = list_warnings(host(nvidia_smi=Frame("14", XML)))
    assert bare.message.endswith("status 14: the infoROM of a GPU is corrupted.")
    (broken,) = refusals(host(nvidia_smi=Frame("14", f"{XML[:2000]}\n{words}")))
    assert "The GPUs' health cannot be known" in broken
    (fallen,) = refusals(host(nvidia_smi=Frame("15", XML)))
    assert "ended with status 15: a GPU has fallen off the bus." in fallen


CUDA = "CUDA does not start: CUDA_ERROR_{}."


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        (CUDA.format("SYSTEM_NOT_READY (802): system not yet initialized"), "nvidia-fabricmanager"),
        (CUDA.format("SYSTEM_DRIVER_MISMATCH (803): x"), "restart the host, as the driver was updated"),
        (CUDA.format("STUB_LIBRARY (34): x"), "LD_LIBRARY_PATH"),
        (CUDA.format("OUT_OF_MEMORY (2): out of memory"), "ulimit -v, its cgroup's memory.max"),
        (CUDA.format("DEVICE_UNAVAILABLE (46): x"), "end what holds the GPUs"),
        (CUDA.format("DEVICE_NOT_LICENSED (102): x"), "license the vGPU"),
        (CUDA.format("COMPAT_NOT_SUPPORTED_ON_DEVICE (804): x"), "cuda/compat"),
        (CUDA.format("MPS_CONNECTION_FAILED (805): x"), "nvidia-cuda-mps-control"),
        (CUDA.format("UNKNOWN (999): unknown error"), "nvidia-uvm"),
        (CUDA.format("NOT_PERMITTED (800): x"), "restart the host, or"),
        ("CUDA does not start: libcuda.so.1: cannot open shared object file.", "compute,utility"),
    ],
)
def test_cuda_that_does_not_start_is_refused_with_its_remedy(message, fix):
    failed = replace(host(), problems=(FailedProbe(name="cuda", message=message),))
    (sentence,) = refusals(failed)
    assert sentence.startswith(message)
    assert fix in sentence
    prohibited = replace(with_xml(("compute_mode", "Prohibited")), problems=failed.problems)
    assert "compute mode" in refusals(prohibited)[0]
    assert len(refusals(prohibited)) == 1


def test_a_stand_in_for_nvidia_smi_without_a_driver_needs_no_libcuda():
    missing = FailedProbe(
        name="cuda", message="CUDA does not start: libcuda.so.1: cannot open shared object file."
    )
    found = host()
    assert (
        refusals(replace(found, problems=(missing,), driver=replace(found.driver, source="nvidia-smi"))) == []
    )
