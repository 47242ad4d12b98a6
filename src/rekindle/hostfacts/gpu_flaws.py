# SPDX-License-Identifier: Apache-2.0
"""What keeps jobs from a host's GPUs, or may soon, with the way out and the action."""

import re
from collections.abc import Iterator

from rekindle.gpus import visibility
from rekindle.gpus.obstacles import find_obstacles
from rekindle.gpus.visibility import refuse_mig
from rekindle.gpus.xids import find_xid_action, name_xid
from rekindle.host import folders
from rekindle.host.instances import is_instance
from rekindle.records import Complaint, Gpu, GpuProcess, HostRecord
from rekindle.records.action import Action
from rekindle.records.complaint import ANOTHER

MAX_MEMORY_IN_USE_MIB = 15
"""On a GPU before a run. Source: facebookresearch/gcm."""

MAX_UNCORRECTED_ECC = 0
"""Volatile. Source: azurehpc-health-checks, facebookresearch/gcm."""

HARDWARE_SLOWDOWNS = {"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}
"""Clock event reasons that show a fault of the hardware, its cooling or its power. Source: leptonai/gpud."""


def find_gpu_flaws(host: HostRecord) -> list[Complaint]:
    """Return what keeps jobs from the GPUs of ``host``, whoever uses them now; empty if nothing does."""
    return [*_driver(host), *_gpus(host)] or [*_cuda(host)]


def list_gpu_warnings(host: HostRecord) -> list[Complaint]:
    """Return what GPUs that can be used do worse than others, or soon will."""
    found = [complaint for gpu in host.gpus for complaint in find_obstacles(gpu, _label(gpu), refuses=False)]
    found += [complaint for gpu in host.gpus for complaint in _links(gpu)]
    if (failed := host.find_failed("nvidia-smi")) and host.gpus and failed.answered:
        fix = "note the GPU's serial number, and tell the host's owner."
        found.append(Complaint(failed.message, fix, "NONE"))
    return found


def _links(gpu: Gpu) -> Iterator[Complaint]:
    """Yield which NVLinks are down; a GPU without any was built so."""
    up, there = sum(speed > 0 for speed in gpu.nvlink_gb_per_s), len(gpu.nvlink_gb_per_s)
    if 0 < up < there:
        fix = f"reset it or restart the host; if it stays so, {ANOTHER} one."
        yield Complaint(f"{_label(gpu)} has {up} of its {there} NVLinks up.", fix, "RESET_GPU")


def _driver(host: HostRecord) -> Iterator[Complaint]:
    """Yield a complaint about the first reason why the driver does not report the host's GPUs."""
    if stuck := host.find_failed("stuck"):
        yield Complaint(stuck.message, f"restart the host, or {ANOTHER}.", "REBOOT")
        return
    failed = host.find_failed("nvidia-smi")
    if host.gpus:
        if failed and not failed.answered and not _find_broken(host):
            message = f"The GPUs' health cannot be known{visibility.end_with_reason(failed)}"
            yield Complaint(message, "run nvidia-smi -q there, and repair what it reports.", "RETEST")
        return
    reason = visibility.end_with_reason(failed)
    on_bus = "an unknown number of" if host.pci_gpus is None else "no"
    yield visibility.explain_absent(host) or Complaint(
        f"No NVIDIA driver is loaded, and {on_bus} NVIDIA GPUs are on the PCI bus{reason}",
        "use a host with NVIDIA GPUs, or set rekindle_gpus_required to false for CPU builds.",
        "NONE",
    )


def _gpus(host: HostRecord) -> Iterator[Complaint]:
    if not _find_broken(host) and (hidden := visibility.explain_hidden(host)):
        yield hidden
    for gpu in host.gpus:
        yield from _health(gpu, _label(gpu))


def _find_broken(host: HostRecord) -> bool:
    """Whether the driver names a GPU that does not work, which explains what it does not say of all."""
    return any(gpu.state != "ok" for gpu in host.gpus)


def _label(gpu: Gpu) -> str:
    return f"GPU {gpu.index} ({gpu.uuid or gpu.pci_bus_id or 'unnamed'})"


_CUDA: tuple[tuple[str, str, Action], ...] = (
    (
        r"\(802\)",
        "see that nvidia-fabricmanager runs, or set the GPUs ready (nvidia-smi conf-compute -srs 1)",
        "DRAIN",
    ),
    (
        r"\(803\)",
        "restart the host, as the driver was updated and the one before it is still loaded",
        "REBOOT",
    ),
    (r"\(2\)", "raise what limits a process's memory there (ulimit -v, its cgroup's memory.max)", "NONE"),
    (r"\(46\)", "end what holds the GPUs, or set them to Default (nvidia-smi -c 0, as root)", "RETEST"),
    (r"\(102\)", "have the owner of the host license the vGPU (nvidia-gridd and its token)", "DRAIN"),
    (
        r"\(804\)",
        "take CUDA's forward compatibility (cuda/compat) out of LD_LIBRARY_PATH and ldconfig's folders",
        "NONE",
    ),
    (
        r"\(80[5-9]\)",
        "start nvidia-cuda-mps-control there, or leave CUDA_MPS_PIPE_DIRECTORY unset",
        "RETEST",
    ),
    (r"\(34\)", "take the CUDA toolkit's stubs out of LD_LIBRARY_PATH", "NONE"),
    (
        r"\((?:100|999)\)",
        "load nvidia-uvm there (modprobe nvidia-uvm), and see that this user may open /dev/nvidia*",
        "DRAIN",
    ),
    (
        r"libcuda",
        "install the driver's libcuda (a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
        "DRAIN",
    ),
)
"""Message of the trial → the remedy and its action."""


def _cuda(host: HostRecord) -> Iterator[Complaint]:
    """Yield why CUDA does not start although GPUs show; a stand-in for nvidia-smi alone needs no libcuda."""
    failed, driver = host.find_failed("cuda"), host.driver
    if (
        failed
        and host.gpus
        and driver
        and not ("libcuda" in failed.message and driver.source == "nvidia-smi")
    ):
        known = ((fix, action) for pattern, fix, action in _CUDA if re.search(pattern, failed.message))
        fix, action = next(known, ("restart the host", "REBOOT"))
        yield Complaint(failed.message, f"{fix}, or {ANOTHER}.", action)


def _health(gpu: Gpu, name: str) -> Iterator[Complaint]:
    if gpu.state == "lost":
        yield Complaint(
            f"{name} is lost: {gpu.message}.",
            f"restart the host; if it stays lost, {ANOTHER} one.",
            "REBOOT",
        )
    if gpu.state == "error":
        which = gpu.pci_bus_id or gpu.index
        yield Complaint(
            f"{name} is in error: {gpu.message}.",
            f"reset it (nvidia-smi --gpu-reset -i {which}) or restart the host, or {ANOTHER}.",
            "RESET_GPU",
        )
    if gpu.mig:
        yield refuse_mig(gpu)
    yield from find_obstacles(gpu, name, refuses=True)
    if (gpu.ecc_uncorrected_volatile or 0) > MAX_UNCORRECTED_ECC:
        yield Complaint(
            f"{name} has {gpu.ecc_uncorrected_volatile} uncorrected ECC errors, "
            f"{MAX_UNCORRECTED_ECC} are allowed.",
            f"reset it or restart the host; if they come back, {ANOTHER} one.",
            "RESET_GPU",
        )
    if gpu.row_remap_pending:
        fix = "reset it or restart the host, which carries the remap out."
        yield Complaint(f"{name} waits for a row remap.", fix, "RESET_GPU")
    if gpu.row_remap_failure:
        fix = f"{ANOTHER} host, as this GPU has to be replaced."
        yield Complaint(f"{name} failed to remap a row.", fix, "REPLACE")
    for code in gpu.xids:
        if (action := find_xid_action(code)) != "NONE":
            fix = f"see dmesg there, and do so; if it comes back, {ANOTHER} one."
            yield Complaint(f"{name} has just reported {name_xid(code)}.", fix, action)
    if slow := sorted(HARDWARE_SLOWDOWNS.intersection(gpu.throttle_reasons)):
        heat = "" if gpu.temperature_c is None else f" at {gpu.temperature_c} °C"
        yield Complaint(
            f"{name} is slowed down by its hardware{heat} ({', '.join(slow)}).",
            "have the host's cooling and power checked.",
            "RETEST" if gpu.processes else "DRAIN",
        )


def find_memory_in_use(host: HostRecord) -> Iterator[Complaint]:
    """Yield whose memory others use; our own job is followed, its leftovers are ended."""
    uses = [_count_used(host, gpu) for gpu in host.gpus]
    held = {gpu.index for gpu, used in zip(host.gpus, uses, strict=True) if used > MAX_MEMORY_IN_USE_MIB}
    free = sorted({gpu.index for gpu in visibility.find_usable_gpus(host)} - held)
    without = f" Or leave it out (rekindle_gpus: {free})." if free else ""
    for gpu, used in zip(host.gpus, uses, strict=True):
        if used > MAX_MEMORY_IN_USE_MIB:
            others = _list_others(host, gpu)
            holders = ", ".join(f"process {process.pid} ({process.name})" for process in others)
            ends = (end for name, end in _ENDS.items() if any(name in one.name for one in others))
            yield Complaint(
                f"{_label(gpu)} has {used} MiB in use by {holders or 'unnamed processes'}, "
                f"{MAX_MEMORY_IN_USE_MIB} MiB are allowed.",
                f"end them{next(ends, '')}, or wait until their owner is done.{without}",
                "RETEST",
            )


_ENDS = {
    "nvidia-cuda-mps-server": " (echo quit | nvidia-cuda-mps-control)",
    "Xorg": " (stop the display manager: systemctl isolate multi-user.target)",
}
"""Programs that hold memory for others → how they end."""


def _list_others(host: HostRecord, gpu: Gpu) -> list[GpuProcess]:
    ours = f"{host.root}/{folders.ENVS}/"
    return [process for process in gpu.processes if not process.name.startswith(ours)]


def _count_used(host: HostRecord, gpu: Gpu) -> int:
    """Return the MiB of a GPU that others use.

    Memory of no process that is listed is others', unless ours are, or the driver lists none: it is an
    instance's own, or of a run of ours in a container, or of WSL's desktop.
    """
    others = _list_others(host, gpu)
    known = len(others) < len(gpu.processes) or is_instance(gpu.uuid)
    listed = gpu.processes or not (host.find_failed("running") or "microsoft" in host.os.kernel.lower())
    total = gpu.memory_used_mib or 0 if listed and not known else 0
    return max(total, sum(process.memory_mib or 0 for process in others))
