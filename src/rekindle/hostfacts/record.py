# SPDX-License-Identifier: Apache-2.0
"""Turns the collector's output (roles/preflight) into a host's record."""

import re
import time

from rekindle.records import Complaint, FailedProbe, HostRecord, check_bounds, format_time
from rekindle.records.text import format_duration

from . import nvidia, pip, system
from .engines import read_engines
from .frames import FactsError, Frame, Frames

UNFIT = "unfit-python"
"""Problems with interpreters that no environment can be built with."""
_ODD = re.compile(r"[^\w./@+=~-]")
"""Other characters, at which NVFlare, uv, PYTHONPATH or sftp split or expand a path."""


_LONGEST = 255
"""Bytes of a name on Linux's file systems."""


def find_path_flaw(name: str, path: str) -> Complaint | None:
    """Return why the setting ``name`` cannot be a folder on the host; None if it can."""
    if not path.startswith(("/", "~/")) and path != "~":
        return Complaint(f"{name} is {path!r}, a relative path.", "begin it with / or ~/.")
    if match := _ODD.search(path):
        what = "white space" if match[0].isspace() else repr(match[0])
        return Complaint(f"{name} is {path!r}, and no path may have {what} in it.", "name another.")
    if (longest := max(len(part.encode()) for part in path.split("/"))) > _LONGEST:
        message = f"{name} has a folder whose name has {longest} bytes, and at most {_LONGEST} are possible."
        return Complaint(message, "name another.")
    return None


def read_host(frames: Frames, host: str, root: str) -> HostRecord:
    """Return the record of ``host``, by the collector's answer; ``root`` is from the inventory.

    Raises:
        FactsError: the answer is invalid.
    """
    try:
        return make_host_record(frames, host, root)
    except (ValueError, RecursionError) as error:
        raise FactsError(f"The host's answer is invalid: {error}.", "do not trust that host.") from None


def make_host_record(frames: Frames, host: str, root: str) -> HostRecord:
    """Return the record of ``host``, from its collector's ``frames``.

    Args:
        frames: by the name of their probe.
        host: its name in the inventory.
        root: Rekindle's folder from the inventory; ``~/`` is the user's home on the host.

    Raises:
        FactsError: the answer lacks a fact of every Linux host, or ``root`` has a flaw.
        RecordError: it is larger than any host's.
    """
    home = system.require_line(frames, "home")
    folder = home + root[1:] if root == "~" or root.startswith("~/") else root
    if unfit := find_path_flaw("rekindle_root", folder):
        raise FactsError(unfit.message, unfit.fix)
    gpus = nvidia.parse_nvidia(frames)
    pip_settings, pip_problems = pip.read_settings(frames)
    limit = system.require_line(frames, "limit")
    problems = [
        FailedProbe(
            name=name, message=message, timed_out=frame.late, answered=nvidia.is_only_warned(name, frame)
        )
        for name, frame in frames.items()
        if (message := _problem(name, frame, limit))
    ]
    pythons = [FailedProbe(name=UNFIT, message=message) for message in system.list_unfit_pythons(frames)]
    record = HostRecord(
        host=host,
        collected=format_time(),
        user=system.read_line(frames, "user") or system.require_line(frames, "uid"),
        home=home,
        root=folder,
        boot=system.read_line(frames, "boot"),
        place=system.read_line(frames, "place"),
        limits=system.parse_variables(frames["limits"].text) if "limits" in frames else {},
        os=system.read_system(frames),
        cpu=system.read_cpu(frames),
        memory=system.read_memory(frames),
        disks=system.read_disks(frames, home, folder),
        pythons=system.read_pythons(frames),
        driver=gpus.driver,
        gpus=gpus.gpus,
        pci_gpus=system.count_pci_gpus(frames),
        pci_devices=system.read_pci_devices(frames),
        topology=gpus.topology,
        engines=read_engines(frames),
        pip=pip_settings,
        problems=(*problems, *pip_problems, *pythons),
    )
    return check_bounds(record)


_TRIALS = {
    "files-root": "No file can be made, linked and locked there",
    "files-tmpdir": "No file can be made, linked and locked there",
    "start-root": "No program can be started there",
    "start-tmpdir": "No program can be started there",
    "room-root": "This user cannot have as much space there as rekindle_min_free_gb asks for",
    "interpreter": "It does not start",
    "need-files": "A process cannot have 256 files open",
    "need-threads": "A process cannot have 128 threads",
    "need-locked": "A process cannot lock 64 MiB of memory, as NCCL does over InfiniBand",
    "need-loopback": "A process cannot reach another one at localhost",
    "need-semaphore": "Processes cannot share a semaphore and a file in /dev/shm",
    "need-tmp": "No file can be made in /tmp",
    "need-name": "TMPDIR (rekindle_tmpdir) has too long a path for a socket in it",
    "need-instructions": "The processor lacks instructions for which packages are built (x86-64-v2)",
    "need-linger": "The login manager ends what is left running at a logout",
    "astray": "Python does not start as the login sets it up",
    "running": "A run of Rekindle is under way",
    "cuda": "CUDA does not start",
}


def _said(frame: Frame) -> str:
    """Return what a shell's message ends with: the file and the reason."""
    return re.sub(r"^\S{1,200}: (?:line )?\d{1,9}: ", "", frame.first_line)[:200].rstrip(".")


def _shared(found: str) -> str | None:
    """Return who else could put files in a folder's place, or what else it has, one sentence.

    Args:
        found: of `others` or `strangers` there.
    """
    how, _, rest = found.partition(" ")
    path, _, number = rest.rpartition(" ")
    if how == "all":
        return f"All users may write to {rest}."
    if how == "home":
        return f"It is the home folder {rest}, or above it."
    if how == "stranger":
        return f"{rest} is in it, which Rekindle did not make and would not remove."
    what = {"owner": "belongs to another user", "group": "can be written by others of a group"}.get(how)
    return f"{path} {what} ({number})." if what else None


def _problem(name: str, frame: Frame, limit: str) -> str | None:
    """Return what is wrong with a probe's answer, one sentence; None if the probe may fail."""
    printed = frame.first_line[:200].rstrip(".")
    if name == "clock" and frame.answered:
        return _compare_clock(frame.first_line)
    if frame.late:
        return f"{nvidia.COMMANDS.get(name, f'The probe {name}')} timed out after {limit} s."
    if frame.answered and not nvidia.is_only_warned(name, frame):
        whole = name != "nvidia-smi" or nvidia.parse_document(frame.text) is not None
        gave = "broken XML" if "<nvidia_smi_log>" in frame.text else f"no XML but: {printed}"
        return None if whole else f"nvidia-smi -q -x gave {gave}."
    return _failure(name, frame, printed)


_CLOCK_S = 300
"""As acceptance has it: munge and Kerberos refuse such a host, and downloads may."""


def _compare_clock(says: str) -> str | None:
    """Return how far off the controller's the clock is by which a host answered just now."""
    ahead = float(says) - time.time() if re.fullmatch(r"[0-9]{1,12}", says) else 0.0
    if abs(ahead) <= _CLOCK_S:
        return None
    way = "ahead of" if ahead > 0 else "behind"
    return f"The host's clock is {format_duration(abs(ahead))} {way} the controller's."


_STUCK = re.compile(r"(\d{1,10}) (\d{1,10})")


_ABSENT = {
    "nvidia-smi": "nvidia-smi is not on this host.",
    "glibc": "Neither getconf nor ldd names the version of the C library.",
}


def _failure(name: str, frame: Frame, printed: str) -> str | None:
    if name == "stuck" and (stuck := _STUCK.match(frame.first_line)):
        process, age = stuck.groups()
        return f"nvidia-smi (process {process}) has hung in the driver for {age} s, and nothing ends it."
    if name in _TRIALS:
        return f"{_TRIALS[name]}: {_said(frame)}."
    if name in nvidia.COMMANDS and frame.status != "127":
        return nvidia.describe_failure(name, frame)
    if name in ("root", "tmpdir"):
        place, _, found = frame.text.strip().partition("\n")
        why = f": {found.removeprefix('why ')}" if found.startswith("why ") else ""
        return _shared(found) or f"{place} is not a folder that this user can write to{why}."
    if name.startswith("disk-"):
        return f"df ended with status {frame.status}: {printed}."
    return _ABSENT.get(name)
