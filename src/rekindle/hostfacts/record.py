"""From what the collector (roles/preflight) prints on a host to the host's record, and what it lacks."""

from __future__ import annotations

import re

from rekindle.records import Complaint, FailedProbe, HostRecord, checked, timestamp

from . import nvidia, pip, system
from .frames import FactsError, Frame, Frames

_UNFIT = re.compile(r"[^\w./@+=~-]")
"""At all but these, one of NVFlare, uv, PYTHONPATH and sftp splits a path, or reads more into it."""


def flaw(name: str, path: str) -> Complaint | None:
    """Return what keeps the setting ``name`` from being a folder on the host; None if nothing does."""
    if not path.startswith(("/", "~/")) and path != "~":
        return Complaint(f"{name} is {path!r}, a relative path.", "begin it with / or ~/.")
    if match := _UNFIT.search(path):
        what = "white space" if match[0].isspace() else repr(match[0])
        return Complaint(f"{name} is {path!r}, and no path may have {what} in it.", "name another.")
    return None


def host_record(frames: Frames, host: str, root: str) -> HostRecord:
    """Return the record of ``host``, whose collector answered ``frames``.

    Args:
        frames: by the name of their probe.
        host: the name that the inventory gives it.
        root: Rekindle's folder as the inventory has it; ``~/`` means the user's home on the host.

    Raises:
        FactsError: the answer lacks what every Linux host tells, or ``root`` has a flaw.
        RecordError: it is more than any host has to tell.
    """
    home = system.required(frames, "home")
    folder = home + root[1:] if root == "~" or root.startswith("~/") else root
    if unfit := flaw("rekindle_root", folder):
        raise FactsError(unfit.says, unfit.fix)
    gpus = nvidia.parse(frames)
    pip_settings, pip_problems = pip.settings(frames)
    record = HostRecord(
        host=host,
        collected=timestamp(),
        user=system.line(frames, "user") or system.required(frames, "uid"),
        home=home,
        root=folder,
        os=system.operating_system(frames),
        cpu=system.cpu(frames),
        memory=system.memory(frames),
        disks=system.disks(frames, home, folder),
        pythons=system.pythons(frames),
        driver=gpus.driver,
        gpus=gpus.gpus,
        pci_gpus=system.pci_gpus(frames),
        pci_devices=system.pci_devices(frames),
        topology=gpus.topology,
        cuda_toolkit=system.cuda_toolkit(frames),
        docker=system.docker(frames),
        nccl_environment=system.variables(frames["nccl"].text),
        pip=pip_settings,
        problems=(*_problems(frames), *pip_problems),
    )
    return checked(record)


def _problems(frames: Frames) -> tuple[FailedProbe, ...]:
    limit = system.required(frames, "limit")
    found = ((name, frame.late, _problem(name, frame, limit)) for name, frame in frames.items())
    return tuple(FailedProbe(name=name, says=says, timed_out=late) for name, late, says in found if says)


def _problem(name: str, frame: Frame, limit: str) -> str | None:
    """Return what is wrong with a probe's answer, one sentence; None where it may well fail."""
    said = frame.first_line[:200].rstrip(".")
    if frame.late:
        return f"{nvidia.COMMANDS.get(name, f'The probe {name}')} timed out after {limit} s."
    if frame.answered:
        broken = name == "nvidia-smi" and nvidia.document(frame.text) is None
        return f"nvidia-smi -q -x gave no whole XML document but: {said}." if broken else None
    if name in ("root", "tmpdir"):
        return f"{frame.text.strip()} is not a folder that this user can write to."
    if name.startswith("disk-"):
        return f"df ended with status {frame.status}: {said}."
    if name in nvidia.COMMANDS and frame.status != "127":
        return f"{nvidia.COMMANDS[name]} ended with status {frame.status}: {said}."
    return "nvidia-smi is not on this host." if name == "nvidia-smi" else None
