"""Hosts as preflight would find them, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.records import Cpu, Driver, Gpu, HostRecord, Memory, Os, PlannedEnvironment, Python
from rekindle.records.plan import Framework
from rekindle.solver import solve

# nvidia-smi's name and compute capability
K80 = ("Tesla K80", "3.7")
P100 = ("Tesla P100-PCIE-16GB", "6.0")
V100 = ("Tesla V100-SXM2-32GB", "7.0")
T4 = ("Tesla T4", "7.5")
A30 = ("NVIDIA A30", "8.0")
A100 = ("NVIDIA A100-SXM4-80GB", "8.0")
L40S = ("NVIDIA L40S", "8.9")
H100 = ("NVIDIA H100 80GB HBM3", "9.0")
H200 = ("NVIDIA H200", "9.0")
GH200 = ("NVIDIA GH200 480GB", "9.0")
B200 = ("NVIDIA B200", "10.0")
B300 = ("NVIDIA B300 SXM6 AC", "10.3")
THOR = ("NVIDIA Thor", "11.0")
RTX5090 = ("NVIDIA GeForce RTX 5090", "12.0")
GB10 = ("NVIDIA GB10", "12.1")

Model = tuple[str, str]


def gpu(index: int, model: Model) -> Gpu:
    # A GB10 shares its memory with the processor and reports [N/A].
    memory = None if model == GB10 else 16384
    return Gpu(index=index, state="ok", name=model[0], compute_capability=model[1], memory_total_mib=memory)


def python(version: str, **facts: str | bool) -> Python:
    minor = ".".join(version.split(".")[:2])
    return Python(path=f"/usr/bin/python{minor}", version=version, **facts)  # type: ignore[arg-type]


def host(
    *models: Model,
    driver: str | None = "580.95.05",
    pythons: Sequence[Python | str] = ("3.12.3",),
    machine: str = "x86_64",
    glibc: str | None = "2.35",
    pci_gpus: int | None = None,
) -> HostRecord:
    found = (
        Driver(version=driver, source="/sys/module/nvidia/version", cuda=None) if driver and models else None
    )
    return HostRecord(
        host="lease",
        collected="2026-11-21T02:00:00Z",
        user="u",
        home="/home/u",
        root="/home/u/rekindle",
        os=Os(id="ubuntu", version="22.04", name="Ubuntu", kernel="6", architecture=machine, glibc=glibc),
        cpu=Cpu(model=None, cores=16),
        memory=Memory(total_mib=65536, available_mib=60000),
        disks=(),
        pythons=tuple(
            python(interpreter) if isinstance(interpreter, str) else interpreter for interpreter in pythons
        ),
        driver=found,
        gpus=tuple(gpu(index, model) for index, model in enumerate(models)),
        pci_gpus=len(models) if pci_gpus is None else pci_gpus,
    )


def plan(  # noqa: PLR0913 - each is a part of the question
    on: HostRecord,
    framework: Framework = "torch",
    *,
    gpus_required: bool = True,
    pin: str | None = None,
    system_site: bool = False,
    nvflare: str | None = None,
) -> PlannedEnvironment:
    record = solve(
        on,
        [framework],
        gpus_required=gpus_required,
        pins={framework: pin} if pin else {},
        system_site=system_site,
        nvflare=nvflare,
        made="2026-11-21T02:15:00Z",
        host_sha256="0" * 64,
    )
    return record.environments[0]


def failed_axes(environment: PlannedEnvironment) -> list[str]:
    return [reason.axis for reason in environment.reasons if not reason.holds]
