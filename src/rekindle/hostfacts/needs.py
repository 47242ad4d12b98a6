"""What a host lacks, each a sentence with its figures and the way out."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.records import FailedProbe, Gpu, HostRecord

from .system import version_key

MAX_MEMORY_IN_USE_MIB = 15
"""On a GPU before a run. Source: facebookresearch/gcm."""

MAX_UNCORRECTED_ECC = 0
"""Volatile. Source: azurehpc-health-checks, facebookresearch/gcm."""

HARDWARE_SLOWDOWNS = {"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}
"""Clock event reasons that mean trouble in the hardware, its cooling or its power. Source: leptonai/gpud."""

MIN_TMPDIR_GB = 2.0
"""Ours: larger than any one file that an install unpacks or a federated round passes on; a full TMPDIR
ends a run with ENOSPC."""

MIN_TMP_GB = 0.1
"""Ours: sockets and small files of tools that ignore TMPDIR."""

MIN_SHM_MIB = 64
"""What container engines give by default; NCCL and data loaders' workers keep their buffers there."""

OLDEST_PYTHON, NEWEST_PYTHON = (3, 10), (3, 12)
"""Our driver parses on 3.10, and the locks of all frameworks with nvflare 2.7 reach up to 3.12."""

_MIB_PER_GB = 1000**3 / 1024**2
_CPU_ONLY = "or set rekindle_gpus_required to false for CPU builds"


def unmet(host: HostRecord, *, gpus_required: bool, min_free_gb: float) -> list[str]:
    """Return what ``host`` lacks; empty means that it can go on.

    Args:
        host: as preflight found it.
        gpus_required: whether a host without working GPUs is refused.
        min_free_gb: free space in GB (10⁹ bytes) that the disk of Rekindle's folder must have.
    """
    gpus = _driver_and_gpus(host) if gpus_required or host.gpus else ()
    return [*gpus, *_folders(host), *_space(host, min_free_gb), *_python(host)]


def _failed(host: HostRecord, name: str) -> FailedProbe | None:
    return next((probe for probe in host.problems if probe.name == name), None)


def _says(host: HostRecord, name: str) -> str:
    """Return the end of a sentence: what is recorded of a failed probe, or a full stop if it did not fail."""
    failed = _failed(host, name)
    return f": {failed.says}" if failed else "."


def _driver_and_gpus(host: HostRecord) -> Iterator[str]:
    failed, answer = _failed(host, "nvidia-smi"), _says(host, "nvidia-smi")
    on_bus = "an unknown number of" if host.pci_gpus is None else str(host.pci_gpus)
    if failed and failed.timed_out:
        yield (
            f"The GPUs' state cannot be known{answer} "
            "Fix: look for Xid lines in dmesg, then restart the host or ask for another one."
        )
    elif host.driver is None:
        yield (
            f"No NVIDIA driver is loaded, and {on_bus} NVIDIA GPUs are on the PCI bus{answer} "
            f"Fix: install the driver and restart, {_CPU_ONLY}."
        )
    elif not host.gpus:
        yield (
            f"Driver {host.driver.version} shows no GPU, and {on_bus} are on the PCI bus{answer} "
            f"Fix: restart the host or ask for another one, {_CPU_ONLY}."
        )
    elif failed:
        yield f"The GPUs' health cannot be known{answer} Fix: run nvidia-smi -q there, mend what it says."
    if host.gpus and host.pci_gpus is not None and host.pci_gpus > len(host.gpus):
        yield (
            f"{host.pci_gpus} NVIDIA GPUs are on the PCI bus but the driver shows {len(host.gpus)}. "
            "Fix: look for Xid 79 (fallen off the bus) in dmesg, restart the host or ask for another one."
        )
    for gpu in host.gpus:
        yield from _gpu(gpu, host.root)


def _gpu(gpu: Gpu, root: str) -> Iterator[str]:
    who = f"GPU {gpu.index} ({gpu.uuid or gpu.pci_bus_id or 'unnamed'})"
    if gpu.state == "lost":
        yield f"{who} is lost: {gpu.says}. Fix: restart the host; if it stays lost, ask for another one."
    if gpu.state == "error":
        yield (
            f"{who} is in error: {gpu.says}. "
            f"Fix: reset it (nvidia-smi --gpu-reset -i {gpu.index}) or restart the host, or ask for another."
        )
    if (gpu.ecc_uncorrected_volatile or 0) > MAX_UNCORRECTED_ECC:
        yield (
            f"{who} has {gpu.ecc_uncorrected_volatile} uncorrected ECC errors, {MAX_UNCORRECTED_ECC} are "
            "allowed. Fix: reset it or restart the host; if they come back, ask for another one."
        )
    if gpu.row_remap_pending:
        yield f"{who} waits for a row remap. Fix: reset it or restart the host, which carries the remap out."
    if gpu.row_remap_failure:
        yield f"{who} failed to remap a row. Fix: ask for another host, as this GPU has to be replaced."
    if slow := sorted(HARDWARE_SLOWDOWNS.intersection(gpu.throttle_reasons)):
        heat = "" if gpu.temperature_c is None else f" at {gpu.temperature_c} °C"
        yield (
            f"{who} is slowed down by its hardware{heat} ({', '.join(slow)}). "
            "Fix: have the host's cooling and power checked."
        )
    yield from _memory_in_use(gpu, who, root)


def _memory_in_use(gpu: Gpu, who: str, root: str) -> Iterator[str]:
    """Complain of what others hold; a job of ours that still runs is followed, and what it left is ended."""
    others = [process for process in gpu.processes if not process.name.startswith(f"{root}/envs/")]
    total = gpu.memory_used_mib or 0 if len(others) == len(gpu.processes) else 0
    used = max(total, sum(process.memory_mib or 0 for process in others))
    if used <= MAX_MEMORY_IN_USE_MIB:
        return
    holders = ", ".join(f"process {process.pid} ({process.name})" for process in others)
    yield (
        f"{who} has {used} MiB in use by {holders or 'processes that it does not name'}, "
        f"{MAX_MEMORY_IN_USE_MIB} MiB are allowed. Fix: end them, or wait until whoever runs them is done."
    )


def _folders(host: HostRecord) -> Iterator[str]:
    for name in ("root", "tmpdir"):
        if (answer := _says(host, name)) != ".":
            yield f"rekindle_{name} cannot be made{answer} Fix: set rekindle_{name} to another place."


def _space(host: HostRecord, min_free_gb: float) -> Iterator[str]:
    wanted_gb = {
        "root": (min_free_gb, "free space there, or set rekindle_root to another disk"),
        "tmpdir": (MIN_TMPDIR_GB, "free space there, or set rekindle_tmpdir to another disk"),
        "tmp": (MIN_TMP_GB, "free space there"),
        "shm": (MIN_SHM_MIB / _MIB_PER_GB, "mount it larger (a container: --shm-size, --ipc=host)"),
    }
    names = {"root": "rekindle_root", "tmpdir": "TMPDIR (rekindle_tmpdir)", "tmp": "/tmp", "shm": "/dev/shm"}
    disks = {disk.use: disk for disk in host.disks}
    for use, (gb, fix) in wanted_gb.items():
        disk = disks.get(use)  # type: ignore[call-overload]  # the keys are Disk.use's own words
        if disk is None:
            yield f"The free space of {names[use]} cannot be read{_says(host, f'disk-{use}')} Fix: {fix}."
        elif disk.free_mib < gb * _MIB_PER_GB:
            free_gb = disk.free_mib / _MIB_PER_GB
            yield (
                f"{names[use]} has too little free space: {free_gb:.2f} GB at {disk.path}, "
                f"{gb:.2f} GB are needed. Fix: {fix}."
            )


def _python(host: HostRecord) -> Iterator[str]:
    if any(OLDEST_PYTHON <= version_key(python)[:2] <= NEWEST_PYTHON for python in host.pythons):
        return
    found = ", ".join(f"{python.version} at {python.path}" for python in host.pythons) or "none"
    yield (
        f"No Python from 3.10 to 3.12 is on the host, found: {found}{_says(host, 'pythons')} "
        "Fix: install one of them (such as the packages python3.12 and python3.12-venv)."
    )
