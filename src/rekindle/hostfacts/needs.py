# SPDX-License-Identifier: Apache-2.0
"""What a host lacks, and the ways out."""

from collections.abc import Iterator

from rekindle.gpus import visibility
from rekindle.gpus.models import choose_python, parse_version
from rekindle.gpus.visibility import is_mig, refuse_mig
from rekindle.host import folders
from rekindle.records import Complaint, Gpu, HostRecord, Python
from rekindle.records.complaint import ANOTHER

from .record import find_path_flaw

MAX_MEMORY_IN_USE_MIB = 15
"""On a GPU before a run. Source: facebookresearch/gcm."""

MAX_UNCORRECTED_ECC = 0
"""Volatile. Source: azurehpc-health-checks, facebookresearch/gcm."""

HARDWARE_SLOWDOWNS = {"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}
"""Clock event reasons that show a fault of the hardware, its cooling or its power. Source: leptonai/gpud."""

MIN_TMPDIR_GB = 2.0
"""Ours: larger than any one file that an install unpacks or a federated round passes on; a full TMPDIR
ends a run with ENOSPC."""

MIN_TMP_GB = 0.1
"""Ours: sockets and small files of tools that ignore TMPDIR."""

MIN_SHM_MIB = 64
"""The default of container engines; NCCL and data loaders' workers keep their buffers there."""

OLDEST_PYTHON, NEWEST_PYTHON = (3, 10), (3, 12)
"""Our driver parses on 3.10, and the locks of all frameworks with nvflare 2.7 reach up to 3.12."""

_PIP = ("env", "xdg", "etc", "legacy", "user", "file")
_FACTS = {
    "os": "its operating system",
    "glibc": "its C library",
    "pythons": "the list of its Pythons",
    "root": "whether rekindle_root can be used",
    "tmpdir": "whether rekindle_tmpdir can be used",
    "disk-root": "the free space of rekindle_root",
    "disk-tmpdir": "the free space of TMPDIR (rekindle_tmpdir)",
    "disk-tmp": "the free space of /tmp",
    "disk-shm": "the free space of /dev/shm",
    **dict.fromkeys((f"pip-{file}" for file in _PIP), "the configuration of its pip"),
}

_MIB_PER_GB = 1000**3 / 1024**2


def find_unmet(host: HostRecord, *, gpus_required: bool, min_free_gb: float) -> list[Complaint]:
    """Return what ``host`` lacks; if empty, it can be used.

    Args:
        host: by preflight.
        gpus_required: whether a host without working GPUs is refused.
        min_free_gb: free space in GB (10⁹ bytes) that the disk of Rekindle's folder must have.
    """
    gpus = [*_driver(host), *_gpus(host)] if gpus_required or host.gpus else []
    return [*gpus, *_slow(host), *_folders(host), *_space(host, min_free_gb), *_python(host)]


def _slow(host: HostRecord) -> Iterator[Complaint]:
    """Yield a complaint about each required fact that the host did not report in time."""
    for failed in host.problems:
        if failed.timed_out and failed.name in _FACTS and not (failed.name == "pythons" and _fit(host)):
            yield Complaint(
                f"The host was slow, and {_FACTS[failed.name]} is not known: {failed.message}",
                "run preflight again when it has less to do, or ask for another one.",
            )


def _driver(host: HostRecord) -> Iterator[Complaint]:
    """Yield a complaint about the first reason why the driver does not report the host's GPUs."""
    failed = host.find_failed("nvidia-smi")
    if host.gpus:
        if failed:
            message = f"The GPUs' health cannot be known{visibility.end_with_reason(failed)}"
            yield Complaint(message, "run nvidia-smi -q there, and repair what it reports.")
        return
    reason = visibility.end_with_reason(failed)
    on_bus = "an unknown number of" if host.pci_gpus is None else "no"
    yield visibility.explain_absent(host) or Complaint(
        f"No NVIDIA driver is loaded, and {on_bus} NVIDIA GPUs are on the PCI bus{reason}",
        "use a host with GPUs, or set rekindle_gpus_required to false for CPU builds.",
    )


def _gpus(host: HostRecord) -> Iterator[Complaint]:
    if hidden := visibility.explain_hidden(host):
        yield hidden
    for gpu in host.gpus:
        name = f"GPU {gpu.index} ({gpu.uuid or gpu.pci_bus_id or 'unnamed'})"
        yield from _health(gpu, name)
        yield from _memory_in_use(gpu, name, host.root)


def _health(gpu: Gpu, name: str) -> Iterator[Complaint]:
    if gpu.state == "lost":
        yield Complaint(
            f"{name} is lost: {gpu.message}.", f"restart the host; if it stays lost, {ANOTHER} one."
        )
    if gpu.state == "error":
        yield Complaint(
            f"{name} is in error: {gpu.message}.",
            f"reset it (nvidia-smi --gpu-reset -i {gpu.index}) or restart the host, or {ANOTHER}.",
        )
    if is_mig(gpu):
        yield refuse_mig(gpu)
    if (gpu.ecc_uncorrected_volatile or 0) > MAX_UNCORRECTED_ECC:
        yield Complaint(
            f"{name} has {gpu.ecc_uncorrected_volatile} uncorrected ECC errors, "
            f"{MAX_UNCORRECTED_ECC} are allowed.",
            f"reset it or restart the host; if they come back, {ANOTHER} one.",
        )
    if gpu.row_remap_pending:
        fix = "reset it or restart the host, which carries the remap out."
        yield Complaint(f"{name} waits for a row remap.", fix)
    if gpu.row_remap_failure:
        fix = f"{ANOTHER} host, as this GPU has to be replaced."
        yield Complaint(f"{name} failed to remap a row.", fix)
    if slow := sorted(HARDWARE_SLOWDOWNS.intersection(gpu.throttle_reasons)):
        heat = "" if gpu.temperature_c is None else f" at {gpu.temperature_c} °C"
        yield Complaint(
            f"{name} is slowed down by its hardware{heat} ({', '.join(slow)}).",
            "have the host's cooling and power checked.",
        )


def _memory_in_use(gpu: Gpu, name: str, root: str) -> Iterator[Complaint]:
    """Yield a complaint about memory that others use; our own job is followed, its leftovers are ended."""
    others = [process for process in gpu.processes if not process.name.startswith(f"{root}/{folders.ENVS}/")]
    total = gpu.memory_used_mib or 0 if len(others) == len(gpu.processes) else 0
    used = max(total, sum(process.memory_mib or 0 for process in others))
    if used <= MAX_MEMORY_IN_USE_MIB:
        return
    holders = ", ".join(f"process {process.pid} ({process.name})" for process in others)
    yield Complaint(
        f"{name} has {used} MiB in use by {holders or 'unnamed processes'}, "
        f"{MAX_MEMORY_IN_USE_MIB} MiB are allowed.",
        "end them, or wait until their owner is done.",
    )


def _folders(host: HostRecord) -> Iterator[Complaint]:
    said = set()
    for name in ("root", "tmpdir"):  # by default below it
        failed = host.find_failed(name)
        if failed and not failed.timed_out and failed.message not in said:
            said.add(failed.message)
            message = f"rekindle_{name} cannot be used: {failed.message}"
            yield Complaint(message, f"set rekindle_{name} to a place to which you write, and nobody else.")


def _space(host: HostRecord, min_free_gb: float) -> Iterator[Complaint]:
    other = "free space there, or set {} to another disk."
    larger = "mount it larger (a container: --shm-size, --ipc=host)."
    wanted = (
        ("root", "rekindle_root", min_free_gb, other.format("rekindle_root")),
        ("tmpdir", "TMPDIR (rekindle_tmpdir)", MIN_TMPDIR_GB, other.format("rekindle_tmpdir")),
        ("tmp", "/tmp", MIN_TMP_GB, "free space there."),
        ("shm", "/dev/shm", MIN_SHM_MIB / _MIB_PER_GB, larger),
    )
    for use, name, gb, fix in wanted:
        disk = next((disk for disk in host.disks if disk.use == use), None)
        if disk is None:
            failed = host.find_failed(f"disk-{use}")
            if not (failed and failed.timed_out):
                yield Complaint(
                    f"The free space of {name} cannot be read{visibility.end_with_reason(failed)}", fix
                )
        elif disk.free_mib < gb * _MIB_PER_GB:
            yield Complaint(
                f"{name} has too little free space: {disk.free_mib / _MIB_PER_GB:.2f} GB at {disk.path}, "
                f"{gb:.2f} GB are needed.",
                fix,
            )


def _python(host: HostRecord) -> Iterator[Complaint]:
    failed = host.find_failed("pythons")
    if _fit(host) or (failed and failed.timed_out):
        return
    found = ", ".join(f"{python.version} at {python.path}" for python in host.pythons) or "none"
    yield Complaint(
        f"No Python from 3.10 to 3.12 is on the host, found: {found}, "
        f"and Rekindle has none for {host.os.architecture}.",
        "install one of them (such as the packages python3.12 and python3.12-venv).",
    )


def is_supported(python: Python) -> bool:
    """Whether our driver and the environments run on it."""
    return OLDEST_PYTHON <= parse_version(python.version)[:2] <= NEWEST_PYTHON


def _fit(host: HostRecord) -> bool:
    return any(map(is_supported, host.pythons))


def choose_interpreter(pythons: tuple[Python, ...]) -> str | None:
    """Return the path of the interpreter to use: the newest, preferably outside of a virtual environment.

    None if none fits; a path that a shell would split does not fit.
    """
    best = choose_python(
        python for python in pythons if is_supported(python) and not find_path_flaw("it", python.path)
    )
    return best.path if best else None
