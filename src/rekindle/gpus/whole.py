"""Which GPUs jobs run on: those that answer, and are whole."""

from __future__ import annotations

from rekindle.records import Complaint, Gpu, HostRecord
from rekindle.records.text import one_line

from .missing import absent


def whole(host: HostRecord) -> list[Gpu]:
    """Return the GPUs that answer and are not cut into MIG instances."""
    return [gpu for gpu in host.gpus if gpu.state == "ok" and not cut(gpu)]


def cut(gpu: Gpu) -> bool:
    """Whether a GPU is cut into MIG instances, or is one."""
    return bool(gpu.mig) or (gpu.uuid or "").startswith("MIG-")


def in_mig_mode(gpu: Gpu) -> Complaint:
    """Return why a GPU that is cut into MIG instances gets no job."""
    name = one_line(gpu.name or gpu.uuid or "unnamed")
    return Complaint(
        f"GPU {gpu.index} ({name}) is in MIG mode, and jobs run on whole GPUs: "
        "a process has one MIG instance at most.",
        f"switch it off (nvidia-smi -i {gpu.index} -mig 0, as root), or use another host.",
    )


def none_usable(host: HostRecord) -> Complaint | None:
    """Return why no GPU of ``host`` can be used although something tells of one; None if that is not so."""
    if whole(host):
        return None
    if not host.gpus:
        return absent(host)
    in_parts = [gpu for gpu in host.gpus if gpu.state == "ok"]
    if in_parts:
        return in_mig_mode(in_parts[0])
    first = host.gpus[0]
    return Complaint(
        f"None of this host's {len(host.gpus)} GPUs answers: GPU {first.index} is "
        f"{'lost' if first.state == 'lost' else 'in error'}: {one_line(first.says or 'no reason is given')}.",
        "reset them (nvidia-smi --gpu-reset, as root) or restart the host, or use another host.",
    )
