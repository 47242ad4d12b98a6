# SPDX-License-Identifier: Apache-2.0
"""Hosts as preflight would find them, in a few words."""

from rekindle.records import Cpu, Driver, Gpu, HostRecord, Memory, Os, Python
from rekindle.solver import solve_plan

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


def gpu(index, model):
    # A GB10 shares its memory with the processor and reports [N/A].
    memory = None if model == GB10 else 16384
    return Gpu(index=index, state="ok", name=model[0], compute_capability=model[1], memory_total_mib=memory)


def python(version, **facts):
    minor = ".".join(version.split(".")[:2])
    return Python(path=f"/usr/bin/python{minor}", version=version, **facts)


def host(
    *models,
    driver="580.95.05",
    pythons=("3.12.3",),
    machine="x86_64",
    glibc="2.35",
    pci_gpus=None,
):
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


def solved(on, *frameworks, **more):
    """Return the plan of a host that needs GPUs, made some time by a record of any digest."""
    given = {"gpus_required": True, "made": "2026-11-21T02:15:00Z", **more}
    return solve_plan(on, list(frameworks), **given)


def plan(on, framework="torch", *, pin=None, **more):
    return solved(on, framework, pins={framework: pin} if pin else {}, **more).environments[0]


def built(**changes):
    """Return the fields of an environment's record."""
    fields = {"framework": "torch", "path": "/r/envs/x", "python": "/r/envs/x/bin/python"}
    fields |= {"python_version": "3.11.2", "lock": "torch-9.9.8-cpu-py311.txt", "lock_sha256": "0" * 64}
    return {**fields, "built": "2026-11-21T02:00:00Z", "build_s": 1.0, "packages": {}, "probe": {}, **changes}


def failed_axes(environment):
    return [reason.axis for reason in environment.reasons if not reason.holds]
