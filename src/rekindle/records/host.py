"""``host.json``: what a host is, as preflight found it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from .base import Digits, Few, Integer, Number, Record, Table, Text, Timestamp
from .slurm import Cluster, Slurm


class FailedProbe(Record, kw_only=True, frozen=True):
    """A command that preflight ran and that did not answer as it should."""

    name: Text
    says: Text
    """One sentence: what went wrong (missing, timed out after N s, exit status and first line)."""
    timed_out: bool = False


class Os(Record, kw_only=True, frozen=True):
    """The operating system, from /etc/os-release and uname."""

    id: Text
    version: Text | None
    name: Text
    kernel: Text
    architecture: Text
    """As ``uname -m`` gives it: ``x86_64``, ``aarch64``."""
    glibc: Digits | None


class Cpu(Record, kw_only=True, frozen=True):
    """The processors that this user may run on."""

    model: Text | None
    cores: Integer


class Memory(Record, kw_only=True, frozen=True):
    """Main memory."""

    total_mib: Integer
    available_mib: Integer


class Disk(Record, kw_only=True, frozen=True):
    """Free space at one of the places that Rekindle cares about."""

    use: Literal["system", "home", "root", "tmp", "tmpdir", "shm"]
    """``root`` is Rekindle's own folder, ``system`` is /, ``tmpdir`` the TMPDIR for all that runs."""
    path: Text
    total_mib: Integer
    free_mib: Integer


class Python(Record, kw_only=True, frozen=True):
    """A Python interpreter found on the host."""

    path: Text
    version: Annotated[str, Meta(pattern=r"^\d{1,4}\.\d{1,4}\.\d{1,4}$", max_length=20)]
    """Three numbers: ``3.12.3``."""
    torch: Text | None = None
    """Version of the torch that this interpreter imports, if it has one."""
    tensorflow: Text | None = None
    torchvision: Text | None = None
    lightning: Text | None = None
    venv: bool = False
    """Whether this interpreter lives in a virtual environment."""


class Driver(Record, kw_only=True, frozen=True):
    """The NVIDIA kernel driver."""

    version: Digits
    source: Literal["/sys/module/nvidia/version", "/proc/driver/nvidia/version", "nvidia-smi"]
    cuda: Digits | None
    """Newest CUDA that the driver supports, as nvidia-smi says it: ``13.0``."""
    open_module: bool | None = None
    """Whether the kernel module is the open one; None where that is not told."""


DeviceId = Annotated[str, Meta(pattern=r"^[0-9A-F]{4}\Z", max_length=4)]
"""Of a model on the PCI bus, NVIDIA's: ``2335``."""


class PciGpu(Record, kw_only=True, frozen=True):
    """A GPU on the PCI bus, whatever the driver says."""

    address: Text
    device: DeviceId
    kernel_driver: Text | None
    """That holds it: ``nvidia``, ``nouveau``; None where none does."""


class GpuProcess(Record, kw_only=True, frozen=True):
    """A process that holds memory on a GPU."""

    pid: Integer
    name: Text
    memory_mib: Integer | None


class Gpu(Record, kw_only=True, frozen=True):
    """One GPU. ``None`` means that the driver gave no figure (``[N/A]``, ``Unknown Error``)."""

    index: Integer
    state: Literal["ok", "lost", "error"]
    says: Text | None = None
    """The driver's own words where ``state`` is not ``ok``."""
    name: Text | None = None
    uuid: Text | None = None
    pci_bus_id: Text | None = None
    device: DeviceId | None = None
    compute_capability: Annotated[str, Meta(pattern=r"^[0-9]{1,2}\.[0-9]{1,2}\Z", max_length=5)] | None = None
    """Major and minor: ``9.0``; of its model where the driver does not say it, as 470 and older do not."""
    memory_total_mib: Integer | None = None
    memory_used_mib: Integer | None = None
    temperature_c: Integer | None = None
    ecc: bool | None = None
    ecc_uncorrected_volatile: Integer | None = None
    ecc_corrected_volatile: Integer | None = None
    row_remap_pending: bool | None = None
    row_remap_failure: bool | None = None
    throttle_reasons: Few[Text] = ()
    """Active clock event reasons but for ``gpu_idle``: ``hw_thermal_slowdown``, ``sw_power_cap`` …"""
    pcie_generation: Integer | None = None
    pcie_generation_max: Integer | None = None
    pcie_width: Integer | None = None
    pcie_width_max: Integer | None = None
    nvlink_gb_per_s: Few[Number] = ()
    """Speed of each NVLink; 0.0 for one that is inactive."""
    mig: bool | None = None
    persistence: bool | None = None
    processes: Few[GpuProcess] = ()


class Docker(Record, kw_only=True, frozen=True):
    """The container engine that this user has."""

    path: Text
    version: Text | None
    """Of its daemon; None where that does not answer."""
    says: Text | None = None
    """Why it does not."""
    nvidia: bool = False
    """Whether the NVIDIA container toolkit is there, without which no container has a GPU."""


class HostRecord(Record, kw_only=True, frozen=True):
    """What one host is."""

    schema: Literal["rekindle/host/1"] = "rekindle/host/1"
    host: Text
    """The name that the inventory gives it."""
    collected: Timestamp
    user: Text
    home: Text
    root: Text
    """Rekindle's folder on the host, absolute."""
    os: Os
    cpu: Cpu
    memory: Memory
    disks: Few[Disk]
    pythons: Few[Python]
    """Newest first, one for each real path."""
    driver: Driver | None
    gpus: Few[Gpu]
    """In nvidia-smi's order."""
    pci_gpus: Integer | None
    """NVIDIA display controllers on the PCI bus, whatever the driver says; None if it cannot be read."""
    pci_devices: Few[PciGpu] = ()
    """The same; empty in records of before they were told."""
    topology: Few[Few[Text]] = ()
    """Square, one row and column a GPU in ``gpus`` order: ``X``, ``NV18``, ``SYS`` … (nvidia-smi topo -m)."""
    cuda_toolkit: Text | None = None
    docker: Docker | None = None
    """None where there is none, and in records of before it was looked for."""
    nccl_environment: Table[Text] = {}
    pip: Table[Text] = {}
    """What pip is configured with (index-url, extra-index-url, find-links, cert …), passwords masked."""
    slurm: Slurm | None = None
    """What its runs ask SLURM for; all else here is of a node that was given for it, not of the host."""
    cluster: Cluster | None = None
    """Of a login node (login.json): what SLURM says there."""
    problems: Few[FailedProbe] = ()

    def failed(self, name: str) -> FailedProbe | None:
        """Return what is told of the probe ``name``, if it did not answer as it should."""
        return next((probe for probe in self.problems if probe.name == name), None)
