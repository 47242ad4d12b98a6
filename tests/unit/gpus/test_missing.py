# SPDX-License-Identifier: Apache-2.0
"""GPUs that a driver does not show: named, with the cure, by preflight and by the plan alike."""

import pytest
from msgspec.structs import replace
from samples.hosts import A100, H100, H200, host, plan

from rekindle.gpus.visibility import explain_absent, explain_hidden, has_trace
from rekindle.hostfacts import find_unmet
from rekindle.records import Driver, FailedProbe, Gpu, PciGpu

NO_TOOL, UNKNOWN = "nvidia-smi is not on this host.", "Failed to initialize NVML: Unknown Error."
NONE_FOUND = "nvidia-smi -q -x ended with status 6: No devices were found."
MISMATCH = (
    "nvidia-smi -q -x ended with status 18: Failed to initialize NVML: Driver/library version mismatch."
)


def bus(*devices, held_by=None):
    return tuple(
        PciGpu(address=f"0000:{number:02x}:00.0", device=device, kernel_driver=held_by)
        for number, device in enumerate(devices)
    )


def silent(*devices, driver=None, message="", **more):
    """A host that shows no GPU, with ``devices`` on its bus."""
    loaded = (
        Driver(version=driver, source="nvidia-smi", cuda=None, open_module=more.get("module"))
        if driver
        else None
    )
    problems = (FailedProbe(name="nvidia-smi", message=message),) if message else ()
    on = host(pci_gpus=len(devices))
    return replace(
        on, driver=loaded, pci_devices=bus(*devices, held_by=more.get("held_by")), problems=problems
    )


SILENT = {
    "two": silent("2335", "2335"),
    "nouveau": silent("2335", held_by="nouveau"),
    "two models": silent("2335", "20B0"),
    "open module": silent("2B85"),
    "proprietary module": silent("1DB4"),
    "too old": silent("102D"),
    "unknown": silent("FFFF"),
    "older driver": silent("2B85", driver="550.54.14", message=NONE_FOUND),
    "other module": silent("2B85", driver="580.95.05", module=False, message=NONE_FOUND),
    "newer driver": silent("1DB4", driver="590.48.01"),
    "open module of old": silent("1DB4", driver="580.95.05", module=True),
    "unknown beside a driver": silent("FFFF", driver="550.54.14"),
    "all that it needs": silent("2335", driver="580.95.05", module=True, message=NONE_FOUND),
    "mismatch": silent("2335", driver="580.95.05", message=MISMATCH),
    "mismatch alone": silent(driver="580.95.05", message=MISMATCH),
    "container": silent(driver="580.95.05"),
    "no bus": replace(silent(driver="580.95.05"), pci_gpus=None),
    "no tool": silent("2335", driver="580.95.05", message=NO_TOOL),
    "NVML": silent(driver="580.95.05", message=UNKNOWN),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_silent_host_has_its_gpus_named_with_the_cure(golden, name):
    on = SILENT[name]
    why = explain_absent(on)
    assert has_trace(on)
    golden(why.message, why.fix)
    assert "\n" not in str(why)
    assert str(why) in list(map(str, find_unmet(on, gpus_required=True, min_free_gb=0)))
    refused = plan(on)
    assert refused.build is None
    assert str(refused.refusal).startswith(f"{why}".rstrip("."))
    assert "CPU" not in str(refused.refusal)
    for_cpu = plan(on, gpus_required=False)
    assert for_cpu.build is not None
    assert for_cpu.warnings[0] == f"This is planned for the CPU. {why}"


def test_the_plan_names_which_build_the_missing_driver_would_bring():
    assert str(plan(silent("2B85")).refusal).endswith(
        "; with driver ≥ 570.86.16, torch 2.10.0 (CUDA 12.8) fits."
    )
    assert "fits" not in str(plan(silent("2B85"), "tensorflow").refusal)
    assert "fits" not in str(plan(silent("2335", driver="580.95.05")).refusal)


def test_a_host_without_a_trace_of_a_gpu_has_none():
    assert not has_trace(host())
    assert explain_absent(host()) is None
    leftover = FailedProbe(name="nvidia-smi", message=NONE_FOUND)
    assert not has_trace(replace(host(), problems=(leftover,)))
    assert has_trace(replace(host(), pci_gpus=None, problems=(leftover,)))


def test_one_of_three_that_does_not_show_is_named(golden):
    on = host(H200, H200, pci_gpus=3)
    shown = tuple(replace(gpu, pci_bus_id=f"00000000:{gpu.index:02X}:00.0") for gpu in on.gpus)
    on = replace(on, gpus=shown, pci_devices=bus("2335", "2335", "2335"))
    why = explain_hidden(on)
    golden(why.message, why.fix)
    assert str(why) in plan(on).warnings
    assert explain_hidden(replace(on, pci_gpus=2)) is None


def test_gpus_that_are_all_lost_are_reset_rather_than_python_installed(golden):
    lost = tuple(Gpu(index=number, state="lost", message="GPU is lost") for number in range(2))
    refused = str(plan(replace(host(H100, H100, pythons=["3.9.1"]), gpus=lost)).refusal)
    golden(refused)


def test_a_gpu_in_mig_mode_is_refused_in_a_sentence_or_left_out(golden):
    on = host(A100, A100)
    in_mig = replace(on, gpus=tuple(replace(gpu, mig=True) for gpu in on.gpus))
    golden(plan(in_mig).refusal)
    reported = [str(complaint) for complaint in find_unmet(in_mig, gpus_required=True, min_free_gb=0)]
    assert [complaint for complaint in reported if "MIG" in complaint]
    mixed = plan(replace(on, gpus=(in_mig.gpus[0], on.gpus[1])))
    assert mixed.build is not None
    assert mixed.warnings[0].startswith("Not planned for: GPU 0 (NVIDIA A100-SXM4-80GB) is in MIG mode")
    instances = (
        replace(on.gpus[0], name="NVIDIA A100-SXM4-40GB MIG 1g.5gb", uuid=f"MIG-{n}") for n in range(2)
    )
    cut = replace(on, gpus=tuple(instances), pci_gpus=1)
    assert plan(cut).build is not None
    assert plan(cut).warnings == ()
