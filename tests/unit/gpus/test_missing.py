"""GPUs that a driver does not show: named, with the cure, by preflight and by the plan alike."""

import pytest
from msgspec.structs import replace
from solver_hosts import A100, H100, H200, host, plan

from rekindle.gpus.usable import absent, hidden, trace
from rekindle.hostfacts import unmet
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


@pytest.mark.parametrize(
    ("on", "message", "fix"),
    [
        (silent("2335", "2335"), "2 NVIDIA GPUs (NVIDIA H200)", "load an NVIDIA driver ≥ 550.90.07 and run"),
        (silent("2335", held_by="nouveau"), "(NVIDIA H200)", "≥ 550.90.07 instead of nouveau"),
        (silent("2335", "20B0"), "(1 × NVIDIA H200, 1 × NVIDIA A100-SXM4-40GB)", "≥ 550.90.07"),
        (silent("2B85"), "(NVIDIA GeForce RTX 5090)", "driver ≥ 570.86.16 with its open kernel module"),
        (silent("1DB4"), "(Tesla V100 PCIe 16GB)", "proprietary kernel module, of branch 580 at most"),
        (silent("102D"), "(Tesla K80)", "use another host, as branch 470 is the last for it"),
        (silent("FFFF"), "PCI id 10DE:FFFF, which is not known here", "load the newest NVIDIA driver"),
        (
            silent("2B85", driver="550.54.14", message=NONE_FOUND),
            "Driver 550.54.14 shows no GPU, and 1 (NVIDIA GeForce RTX 5090) are on the PCI bus: nvidia-smi",
            "load driver ≥ 570.86.16 with its open kernel module",
        ),
        (
            silent("2B85", driver="580.95.05", module=False, message=NONE_FOUND),
            "shows no GPU",
            "load driver 580.95.05 with its open kernel module, which NVIDIA GeForce RTX 5090 needs",
        ),
        (silent("1DB4", driver="590.48.01"), "shows no GPU", "load a driver of branch 580"),
        (silent("1DB4", driver="580.95.05", module=True), "no GPU", "with its proprietary kernel module"),
        (silent("FFFF", driver="550.54.14"), "10DE:FFFF", "if they came out after 550.54.14"),
        (silent("2335", driver="580.95.05", module=True, message=NONE_FOUND), "NVIDIA H200", "for Xid lines"),
        (silent("2335", driver="580.95.05", message=MISMATCH), "version mismatch", "restart the host, as"),
        (silent(driver="580.95.05", message=MISMATCH), "version mismatch", "restart the host, as"),
        (silent(driver="580.95.05"), "and 0 are on the PCI bus", "give the container its GPUs"),
        (replace(silent(driver="580.95.05"), pci_gpus=None), "bus cannot be read", "the container its GPUs"),
        (
            silent("2335", driver="580.95.05", message=NO_TOOL),
            "(NVIDIA H200)",
            "install nvidia-smi of driver 580.",
        ),
        (silent(driver="580.95.05", message=UNKNOWN), "shows no GPU", "start the container again"),
    ],
)
def test_a_silent_host_has_its_gpus_named_with_the_cure(on, message, fix):
    why = absent(on)
    assert trace(on)
    assert message in why.message
    assert fix in why.fix
    assert "\n" not in str(why)
    assert str(why) in list(map(str, unmet(on, gpus_required=True, min_free_gb=0)))
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
    assert not trace(host())
    assert absent(host()) is None
    leftover = FailedProbe(name="nvidia-smi", message=NONE_FOUND)
    assert not trace(replace(host(), problems=(leftover,)))
    assert trace(replace(host(), pci_gpus=None, problems=(leftover,)))


def test_one_of_three_that_does_not_show_is_named():
    on = host(H200, H200, pci_gpus=3)
    shown = tuple(replace(gpu, pci_bus_id=f"00000000:{gpu.index:02X}:00.0") for gpu in on.gpus)
    on = replace(on, gpus=shown, pci_devices=bus("2335", "2335", "2335"))
    why = hidden(on)
    assert why.message == (
        "3 NVIDIA GPUs are on the PCI bus but the driver shows 2: NVIDIA H200 at 0000:02:00.0 is missing."
    )
    assert "Xid" in why.fix
    assert str(why) in plan(on).warnings
    assert hidden(replace(on, pci_gpus=2)) is None


def test_gpus_that_are_all_lost_are_reset_rather_than_python_installed():
    lost = tuple(Gpu(index=number, state="lost", message="GPU is lost") for number in range(2))
    refused = str(plan(replace(host(H100, H100, pythons=["3.9.1"]), gpus=lost)).refusal)
    assert refused.startswith(
        "None of this host's 2 GPUs answers: GPU 0 is lost: GPU is lost. Fix: reset them"
    )
    assert "Python" not in refused


def test_a_gpu_in_mig_mode_is_refused_in_a_sentence_or_left_out():
    on = host(A100, A100)
    cut = replace(on, gpus=tuple(replace(gpu, mig=True) for gpu in on.gpus))
    assert "GPU 0 (NVIDIA A100-SXM4-80GB) is in MIG mode, and jobs run on whole GPUs" in str(
        plan(cut).refusal
    )
    assert "Fix: switch it off (nvidia-smi -i 0 -mig 0" in str(plan(cut).refusal)
    reported = [str(complaint) for complaint in unmet(cut, gpus_required=True, min_free_gb=0)]
    assert [complaint for complaint in reported if "MIG" in complaint]
    mixed = plan(replace(on, gpus=(cut.gpus[0], on.gpus[1])))
    assert mixed.build is not None
    assert mixed.warnings[0].startswith("Not planned for: GPU 0 (NVIDIA A100-SXM4-80GB) is in MIG mode")
    instance = replace(on.gpus[0], name="NVIDIA A100-SXM4-40GB MIG 1g.5gb", uuid="MIG-0", mig=None)
    assert "is in MIG mode" in str(plan(replace(on, gpus=(instance,))).refusal)
