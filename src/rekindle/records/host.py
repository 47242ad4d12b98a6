# SPDX-License-Identifier: Apache-2.0
"""``host.json``: what a host is, as preflight found it."""

from typing import Annotated, Literal

from msgspec import Meta

from .allocation import Allocation, Cluster
from .base import Digits, Few, Integer, Number, Record, Table, Text, Timestamp


class FailedProbe(Record, kw_only=True, frozen=True):
    """A command of preflight's that failed."""

    name: Text
    message: Text
    """One sentence: what went wrong (missing, timed out after N s, exit status and first line)."""
    timed_out: bool = False
    answered: bool = False
    """Whether it gave a whole answer all the same, so that its message is a warning."""


class Os(Record, kw_only=True, frozen=True):
    """The operating system, from /etc/os-release and uname."""

    id: Text
    version: Text | None
    name: Text
    kernel: Text
    architecture: Text
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
    free_inodes: Integer | None = None
    """None where files are not counted, as on btrfs."""


class Python(Record, kw_only=True, frozen=True):
    """A Python interpreter found on the host."""

    path: Text
    version: Annotated[str, Meta(pattern=r"^\d{1,4}\.\d{1,4}\.\d{1,4}$", max_length=20)]
    torch: Text | None = None
    tensorflow: Text | None = None
    torchvision: Text | None = None
    lightning: Text | None = None
    venv: bool = False
    archive: Text | None = None
    """File or URL of the archive from which the controller brings it; None for the host's own."""
    sha256: Text | None = None
    """Of that archive."""


class Driver(Record, kw_only=True, frozen=True):
    """The NVIDIA kernel driver."""

    version: Digits
    source: Literal["/sys/module/nvidia/version", "/proc/driver/nvidia/version", "nvidia-smi"]
    cuda: Digits | None
    """Newest CUDA that the driver supports, by nvidia-smi: ``13.0``."""
    open_module: bool | None = None
    """Whether the kernel module is the open one; None if unknown."""


EngineName = Literal["docker", "podman", "apptainer"]

DeviceId = Annotated[str, Meta(pattern=r"^[0-9A-F]{4}\Z", max_length=4)]
"""NVIDIA's number of a model on the PCI bus: ``2335``."""


class PciGpu(Record, kw_only=True, frozen=True):
    """A GPU on the PCI bus, with or without a driver."""

    address: Text
    device: DeviceId
    kernel_driver: Text | None


class GpuProcess(Record, kw_only=True, frozen=True):
    """A process that holds memory on a GPU."""

    pid: Integer
    name: Text
    memory_mib: Integer | None


class Gpu(Record, kw_only=True, frozen=True):
    """One GPU. ``None`` means that the driver gave no figure (``[N/A]``, ``Unknown Error``)."""

    index: Integer
    state: Literal["ok", "lost", "error"]
    message: Text | None = None
    name: Text | None = None
    uuid: Text | None = None
    pci_bus_id: Text | None = None
    device: DeviceId | None = None
    vbios: Text | None = None
    compute_capability: Annotated[str, Meta(pattern=r"^[0-9]{1,2}\.[0-9]{1,2}\Z", max_length=5)] | None = None
    """Major and minor: ``9.0``; from its model where the driver does not report it, as 470 and older."""
    memory_total_mib: Integer | None = None
    memory_used_mib: Integer | None = None
    temperature_c: Integer | None = None
    ecc: bool | None = None
    ecc_uncorrected_volatile: Integer | None = None
    ecc_corrected_volatile: Integer | None = None
    row_remap_pending: bool | None = None
    row_remap_failure: bool | None = None
    xids: Few[Integer] = ()
    """Codes of its errors in the last ten minutes, where this user may read the kernel's log."""
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
    states: Table[Text] = {}
    """Fields of nvidia-smi's XML that can keep CUDA from starting, by their path (gpus/obstacles.py)."""
    processes: Few[GpuProcess] = ()


class Engine(Record, kw_only=True, frozen=True):
    """A container engine that this user has."""

    name: EngineName = "docker"
    path: Text
    version: Text | None
    """None where it, or its daemon, does not answer."""
    message: Text | None = None
    """What it printed instead, or why this user cannot run containers by it."""
    nvidia: bool = False
    """Whether the NVIDIA container toolkit is there, by which Docker gives GPUs."""
    cdi: bool = False
    """Whether a CDI specification names this host's GPUs by UUID, by which Podman gives them."""

    @property
    def title(self) -> str:
        """Its name as people write it, and its version."""
        return f"{self.name.capitalize()} {self.version or '?'}"


class HostRecord(Record, kw_only=True, frozen=True):
    """What one host is."""

    schema: Literal["rekindle/host/2"] = "rekindle/host/2"
    host: Text
    collected: Timestamp
    user: Text
    home: Text
    root: Text
    """Rekindle's folder on the host, absolute."""
    boot: Text | None = None
    """The kernel's id of this boot; None where it has none."""
    place: Text | None = None
    """Device and inode of the folder where ``root`` is or is to be made, and what comes below it."""
    limits: Table[Text] = {}
    """What one process may use, by ulimit: ``file`` in blocks of 512 bytes, ``memory`` in KiB."""
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
    """NVIDIA display controllers on the PCI bus; None if it cannot be read."""
    pci_devices: Few[PciGpu] = ()
    """The same."""
    topology: Few[Few[Text]] = ()
    """Square, one row and column a GPU in ``gpus`` order: ``X``, ``NV18``, ``SYS`` … (nvidia-smi topo -m)."""
    engines: Few[Engine] = ()
    """In the order in which they are preferred."""
    pip: Table[Text] = {}
    """What pip is configured with (index-url, extra-index-url, find-links, cert …), passwords masked."""
    allocation: Allocation | None = None
    """What its runs ask a batch system for; everything else here describes a node that it gave."""
    cluster: Cluster | None = None
    """What a batch system reports on its login node (login.json)."""
    problems: Few[FailedProbe] = ()

    def find_failed(self, name: str) -> FailedProbe | None:
        """Return the failure of the probe ``name``, if it failed."""
        return next((probe for probe in self.problems if probe.name == name), None)
