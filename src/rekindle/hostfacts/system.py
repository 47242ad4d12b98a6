# SPDX-License-Identifier: Apache-2.0
"""The operating system, disks and Pythons of a host, from the collector's frames."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_args, get_type_hints

from msgspec.structs import replace

from rekindle.gpus.models import parse_version
from rekindle.records import (
    Cpu,
    Disk,
    Memory,
    Os,
    PciGpu,
    Python,
    RecordError,
    allow_decoding,
    decode_json,
)

from .frames import FactsError, Frames

_DIGITS = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,5}){0,3}(?![0-9.])")
_DF = re.compile(r"\s(\d{1,15})\s+\d{1,15}\s+(-?\d{1,15})\s+(?:\d{1,5}%|-)\s+/")
_PCI = re.compile(r"^([0-9a-fA-F:.]{7,16}) ([0-9a-fA-F]{4}) ?([\w-]{0,40})$", re.MULTILINE)


@allow_decoding
class _UnfitPython(Python, kw_only=True, frozen=True):
    """An interpreter that was built without modules."""

    lacks: tuple[str, ...]


def read_line(frames: Frames, name: str) -> str | None:
    """Return the first line of a probe that succeeded with output."""
    frame = frames.get(name)
    return frame.first_line if frame and frame.answered and frame.text.strip() else None


def require_line(frames: Frames, name: str) -> str:
    """Return the first line of a probe.

    Raises:
        FactsError: it failed or was late; every Linux host answers it.
    """
    answer = read_line(frames, name)
    if name in frames and frames[name].late:
        raise FactsError(
            f"The host was slow: it did not report its {name} within {frames['limit'].first_line} s.",
            "run preflight again when it has less to do, or ask for another one.",
        )
    if answer is None:
        how = f"status {frames[name].status}: {frames[name].first_line}" if name in frames else "no answer"
        raise FactsError(f"The host does not report its {name} ({how}).", "use a Linux host with coreutils.")
    return answer


def read_system(frames: Frames) -> Os:
    """Read os-release(5), which also gives the defaults, and uname."""
    pairs: list[Any] = re.findall(r"""^([A-Z_]+)=["']?(.*?)["']?$""", frames["os"].text, re.MULTILINE)
    release: dict[str, str] = dict(pairs) if frames["os"].answered else {}
    return Os(
        id=release.get("ID", "linux"),
        version=release.get("VERSION_ID"),
        name=release.get("PRETTY_NAME", release.get("NAME", "Linux")),
        kernel=require_line(frames, "kernel"),
        architecture=require_line(frames, "architecture"),
        glibc=parse_digits((read_line(frames, "glibc") or "").removeprefix("glibc ")),
    )


def parse_digits(text: str | None) -> str | None:
    """Return the numbers at the start of a version, without a distribution's suffix; None without any."""
    match = _DIGITS.match((text or "").strip())
    return match[0] if match else None


def read_cpu(frames: Frames) -> Cpu:
    """Read the model and the number of processors that this user may run on, or has a share of."""
    cores = require_line(frames, "cores")
    shares = re.findall(r"^[0-9]{1,6}$", frames["cores"].text, re.MULTILINE)
    if not re.fullmatch("[0-9]{1,6}", cores):
        raise FactsError(
            f"The host reports {cores!r} as its number of cores.", "see what nproc prints there."
        )
    return Cpu(model=read_line(frames, "cpu"), cores=min(map(int, shares)))


def read_memory(frames: Frames) -> Memory:
    """Read /proc/meminfo and what the process's groups leave, whose figures are KiB."""
    require_line(frames, "memory")
    pairs = re.findall(r"^(\w+): +(\d{1,15})\b", frames["memory"].text, re.MULTILINE)
    kib = {name: int(value) for name, value in pairs}
    if "MemTotal" not in kib:
        raise FactsError("The host's /proc/meminfo has no MemTotal.", "use a Linux host with /proc mounted.")
    left = re.findall(r"^GroupAvailable: (-?\d{1,15}) kB$", frames["memory"].text, re.MULTILINE)
    available = min([kib.get("MemAvailable", kib.get("MemFree", 0)), *map(int, left)])
    return Memory(total_mib=kib["MemTotal"] // 1024, available_mib=max(0, available) // 1024)


def read_disks(frames: Frames, home: str, root: str) -> tuple[Disk, ...]:
    """Read ``df -Pk`` and ``df -Pi`` of each place; one that did not answer is left out.

    What is in memory has no more room than there is memory.
    """
    memory = read_memory(frames).available_mib
    paths = {
        "system": "/",
        "home": home,
        "root": root,
        "tmp": "/tmp",
        "tmpdir": frames["path-tmpdir"].text.rstrip("\n"),
        "shm": "/dev/shm",
    }
    measured = []
    for use in get_args(get_type_hints(Disk)["use"]):
        frame = frames[f"disk-{use}"]
        figures: list[Any] = _DF.findall(frame.text)
        if frame.answered and figures:
            total, free = (max(int(kib), 0) // 1024 for kib in figures[0])
            free = min(free, memory) if frame.text.endswith("in memory") else free
            inodes = [int(left) for all_, left in figures[1:2] if int(all_)]
            disk = Disk(use=use, path=paths[use], total_mib=total, free_mib=free)
            measured.append(replace(disk, free_inodes=inodes[0]) if inodes else disk)
    return tuple(measured)


def read_pythons(frames: Frames) -> tuple[Python, ...]:
    """Return the interpreters that answered, newest first, one for each path.

    If the probe was given up, these are the interpreters that answered in time.
    """
    by_path: dict[str, Python] = {}
    for text in frames["pythons"].text.splitlines():
        with suppress(RecordError):  # it is a shell's message, or tells what the interpreter lacks
            python = decode_json(text, Python)
            by_path.setdefault(python.path, python)
    newest = sorted(by_path.values(), key=lambda python: (parse_version(python.version), python.path))
    return tuple(reversed(newest))


def list_unfit_pythons(frames: Frames) -> Iterator[str]:
    """Yield a sentence for each interpreter that was built without modules that environments import."""
    for text in frames["pythons"].text.splitlines():
        with suppress(RecordError):
            python = decode_json(text, _UnfitPython)
            lacks = " and ".join(python.lacks)
            yield f"Python {python.version} at {python.path} lacks {lacks}: it is not used."


def count_pci_gpus(frames: Frames) -> int | None:
    """Count NVIDIA's display controllers on the PCI bus; None if it cannot be read, or in a container."""
    frame = frames["pci"]
    return len(frame.text.splitlines()) if frame.answered else None


def read_pci_devices(frames: Frames) -> tuple[PciGpu, ...]:
    """Return the GPUs whose model the bus has."""
    matches: list[Any] = _PCI.findall(frames["pci"].text)
    return tuple(
        PciGpu(address=address, device=device.upper(), kernel_driver=driver or None)
        for address, device, driver in matches
    )


def parse_variables(text: str) -> dict[str, str]:
    """Return the environment variables that ``env`` printed."""
    pairs: list[Any] = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)
    return dict(pairs)
