"""``host.json``: what a host is, as preflight found it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from .base import Record, Timestamp


class Probe(Record, kw_only=True, frozen=True):
    """A command that preflight ran and that did not answer as it should."""

    name: str
    says: str
    """One sentence: what went wrong (missing, timed out after N s, exit status and first line)."""


class Os(Record, kw_only=True, frozen=True):
    """The operating system, from /etc/os-release and uname."""

    id: str
    version: str | None
    name: str
    kernel: str
    architecture: str
    """As ``uname -m`` gives it: ``x86_64``, ``aarch64``."""
    glibc: str | None


class Cpu(Record, kw_only=True, frozen=True):
    """The processors that this user may run on."""

    model: str | None
    cores: int


class Memory(Record, kw_only=True, frozen=True):
    """Main memory."""

    total_mib: int
    available_mib: int


class Disk(Record, kw_only=True, frozen=True):
    """Free space at one of the places that Rekindle cares about."""

    use: Literal["system", "home", "root", "tmp", "tmpdir", "shm"]
    """``root`` is Rekindle's own folder, ``system`` is /, ``tmpdir`` the TMPDIR for all that runs."""
    path: str
    total_mib: int
    free_mib: int


class Python(Record, kw_only=True, frozen=True):
    """A Python interpreter found on the host."""

    path: str
    version: Annotated[str, Meta(pattern=r"^\d{1,4}\.\d{1,4}\.\d{1,4}$")]
    """Three numbers: ``3.12.3``."""
    torch: str | None = None
    """Version of the torch that this interpreter imports, if it has one."""
    tensorflow: str | None = None
    lightning: str | None = None
    venv: bool = False
    """Whether this interpreter lives in a virtual environment."""


class Driver(Record, kw_only=True, frozen=True):
    """The NVIDIA kernel driver."""

    version: str
    source: Literal["/sys/module/nvidia/version", "/proc/driver/nvidia/version", "nvidia-smi"]
    cuda: str | None
    """Newest CUDA that the driver supports, as nvidia-smi says it: ``13.0``."""


class GpuProcess(Record, kw_only=True, frozen=True):
    """A process that holds memory on a GPU."""

    pid: int
    name: str
    memory_mib: int | None


class Gpu(Record, kw_only=True, frozen=True):
    """One GPU. ``None`` means that the driver gave no figure (``[N/A]``, ``Unknown Error``)."""

    index: int
    state: Literal["ok", "lost", "error"]
    says: str | None = None
    """The driver's own words where ``state`` is not ``ok``."""
    name: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    compute_capability: str | None = None
    """Major and minor: ``9.0``."""
    memory_total_mib: int | None = None
    memory_used_mib: int | None = None
    temperature_c: int | None = None
    ecc: bool | None = None
    ecc_uncorrected_volatile: int | None = None
    ecc_corrected_volatile: int | None = None
    row_remap_pending: bool | None = None
    row_remap_failure: bool | None = None
    throttle_reasons: tuple[str, ...] = ()
    """Active clock event reasons but for ``gpu_idle``: ``hw_thermal_slowdown``, ``sw_power_cap`` …"""
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    nvlink_gb_per_s: tuple[float, ...] = ()
    """Speed of each NVLink; 0.0 for one that is inactive."""
    mig: bool | None = None
    persistence: bool | None = None
    processes: tuple[GpuProcess, ...] = ()


class HostRecord(Record, kw_only=True, frozen=True):
    """What one host is."""

    schema: Literal["rekindle/host/1"] = "rekindle/host/1"
    host: str
    """The name that the inventory gives it."""
    collected: Timestamp
    user: str
    home: str
    root: str
    """Rekindle's folder on the host, absolute."""
    os: Os
    cpu: Cpu
    memory: Memory
    disks: tuple[Disk, ...]
    pythons: tuple[Python, ...]
    """Newest first, one for each real path."""
    driver: Driver | None
    gpus: tuple[Gpu, ...]
    """In nvidia-smi's order."""
    pci_gpus: int | None
    """NVIDIA display controllers on the PCI bus, whatever the driver says; None if it cannot be read."""
    topology: tuple[tuple[str, ...], ...] = ()
    """Square, one row and column a GPU in ``gpus`` order: ``X``, ``NV18``, ``SYS`` … (nvidia-smi topo -m)."""
    cuda_toolkit: str | None = None
    nccl_environment: dict[str, str] = {}
    pip: dict[str, str] = {}
    """What pip is configured with (index-url, extra-index-url, find-links, cert …), passwords masked."""
    problems: tuple[Probe, ...] = ()
