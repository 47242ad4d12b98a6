# SPDX-License-Identifier: Apache-2.0
"""What a host lacks, and the ways out."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from rekindle.gpus import visibility
from rekindle.gpus.models import choose_python, parse_version
from rekindle.host.instances import is_instance
from rekindle.records import Complaint, HostRecord, Python

from . import pip
from .gpu_flaws import find_gpu_flaws, find_memory_in_use, list_gpu_warnings
from .record import UNFIT, find_path_flaw

MIN_TMPDIR_GB = 2.0
"""Ours: larger than any one file that an install unpacks or a federated round passes on; a full TMPDIR
ends a run with ENOSPC."""

MIN_TMP_GB = 0.1
"""Ours: sockets and small files of tools that ignore TMPDIR."""

MIN_SHM_MIB = 48
"""Three quarters of container engines' default; NCCL and data loaders' workers keep their buffers there."""

MIN_MEMORY_MIB = 1_024
"""Ours: NVFlare's server, one client and one rank, each with torch, take more, and are killed."""

MIN_INODES = {"root": 50_000, "tmpdir": 1_000, "tmp": 100, "shm": 100}
"""Ours: an environment of torch for CPUs has 25,000 files and folders, which its cache shares."""

MIN_FILE_BLOCKS = 8 << 20
"""Of 512 bytes, by ulimit. Ours: 4 GiB, more than any one library or model of the builds has."""

MIN_ADDRESSES_GIB = 4
"""Ours: a process that imports torch and NVFlare has 0.9 GiB without a GPU, larger models have more."""

OLDEST_PYTHON, NEWEST_PYTHON = (3, 10), (3, 12)
"""Our driver parses on 3.10, and the locks of all frameworks with nvflare 2.7 reach up to 3.12."""

_PIP = ("env", "xdg", "etc", "legacy", "user", "file")
_FACTS = {
    "os": "its operating system",
    "glibc": "its C library",
    "pythons": "the list of its Pythons",
    **dict.fromkeys(("root", "files-root", "start-root"), "whether rekindle_root can be used"),
    **dict.fromkeys(("tmpdir", "files-tmpdir"), "whether rekindle_tmpdir can be used"),
    "disk-root": "the free space of rekindle_root",
    "disk-tmpdir": "the free space of TMPDIR (rekindle_tmpdir)",
    "disk-tmp": "the free space of /tmp",
    "disk-shm": "the free space of /dev/shm",
    **dict.fromkeys((f"pip-{file}" for file in _PIP), "the configuration of its pip"),
}

_NEEDS = {
    "need-instructions": "have the machine's owner give it another processor (a VM: CPU type host).",
    "astray": "take that out of the login's files (~/.profile, ~/.bashrc, /etc/environment, modules).",
    "need-threads": "raise nproc in /etc/security/limits.conf, or pids.max of its cgroup (--pids-limit).",
    "need-loopback": "have localhost in /etc/hosts, lo up, and nothing that filters on it.",
    "need-semaphore": "mount /dev/shm as a tmpfs in which all may write (mode 1777).",
}
"""Trials of what each job needs → the way out."""
_MAY_NEED = {
    "need-files": "raise nofile in /etc/security/limits.conf (a container: --ulimit nofile=65536).",
    "need-locked": "raise memlock in /etc/security/limits.conf (a container: --ulimit memlock=-1; a service: "
    "LimitMEMLOCK=infinity), if jobs run over several hosts.",
    "need-linger": "let this user's processes stay (loginctl enable-linger), or set KillUserProcesses=no.",
    "need-name": "set rekindle_tmpdir to a shorter path, if a job has workers of a data loader.",
    "need-tmp": "let all write there (chmod 1777 /tmp), as some programs know no TMPDIR.",
    "clock": "have it keep time by NTP (chrony, systemd-timesyncd), and see that the controller does.",
}
"""Trials that fail where many jobs still pass → the way out."""

_MIB_PER_GB = 1000**3 / 1024**2
_FIGURE = re.compile(r"[0-9]{1,18}")


def find_unmet(host: HostRecord, *, gpus_required: bool, min_free_gb: float) -> list[Complaint]:
    """Return what ``host`` lacks; if empty, it can be used.

    Args:
        host: by preflight.
        gpus_required: whether a host without working GPUs is refused.
        min_free_gb: free space in GB (10⁹ bytes) that the disk of Rekindle's folder must have.
    """
    gpus = [*find_gpu_flaws(host), *find_memory_in_use(host)] if gpus_required or host.gpus else []
    folders_and_space = [*_folders(host), *_space(host, min_free_gb), *_limits(host)]
    return [*gpus, *_slow(host), *folders_and_space, *_needs(host), *_python(host), *_interpreter(host)]


def list_warnings(host: HostRecord) -> list[Complaint]:
    """Return what a host that can be used does worse than others, or soon will."""
    found = list_gpu_warnings(host)
    fix = "build it again with their headers (such as liblzma-dev), or leave it so."
    found += [Complaint(failed.message, fix, "NONE") for failed in host.problems if failed.name == UNFIT]
    fix = "mend it or its rights, if environments are to be built from the index that it names."
    found += [Complaint(failed.message, fix, "NONE") for failed in host.problems if failed.name == pip.UNREAD]
    found += _try(host, _MAY_NEED)
    if failed := host.find_failed("start-tmpdir"):
        fix = "set rekindle_tmpdir to a place without noexec, if a job compiles (torch.compile, Triton)."
        found.append(Complaint(f"TMPDIR (rekindle_tmpdir): {failed.message}", fix, "NONE"))
    return found


def find_twin(host: HostRecord, others: Iterable[HostRecord]) -> Complaint | None:
    """Return which of ``others`` is the same machine with the same folder; None if each is another."""
    for other in others:
        machine = bool(host.boot) and host.boot == other.boot and host.host != other.host
        if machine and _is_clone(host, other):
            continue  # of one snapshot that was taken as it ran
        if machine and host.place and host.place == other.place:
            fix = "take one of both names out of the inventory, or give each a rekindle_root of its own"
            fix += ", and GPUs of its own (rekindle_gpus)." if host.gpus else "."
            message = (
                f"{host.host} is the same machine as {other.host}, and both have the folder {host.root}."
            )
            return Complaint(message, fix, "NONE")
        if machine and (shared := sorted(_list_uuids(host) & _list_uuids(other))):
            return Complaint(
                f"{host.host} is the same machine as {other.host}, and both have GPU {shared[0]}.",
                "take one of both names out of the inventory, or give each GPUs of its own (rekindle_gpus).",
                "NONE",
            )
    return None


def _list_uuids(host: HostRecord) -> set[str]:
    return {gpu.uuid for gpu in host.gpus if gpu.uuid}


def _is_clone(host: HostRecord, other: HostRecord) -> bool:
    """Whether these are two machines of one snapshot: they have other GPUs in the same places."""
    ours, theirs = (
        {gpu.pci_bus_id: gpu.uuid for gpu in each.gpus if gpu.pci_bus_id and not is_instance(gpu.uuid)}
        for each in (host, other)
    )
    return any(theirs.get(address, uuid) != uuid for address, uuid in ours.items())


def _slow(host: HostRecord) -> Iterator[Complaint]:
    """Yield a complaint about each required fact that the host did not report in time."""
    for failed in host.problems:
        if failed.timed_out and failed.name in _FACTS and not (failed.name == "pythons" and _fit(host)):
            yield Complaint(
                f"The host was slow, and {_FACTS[failed.name]} is not known: {failed.message}",
                "run preflight again when it has less to do, or ask for another one.",
                "RETEST",
            )


def _folders(host: HostRecord) -> Iterator[Complaint]:
    said = set()
    for name in ("root", "tmpdir"):  # by default below it
        failed = host.find_failed(name)
        if failed and not failed.timed_out and failed.message not in said:
            said.add(failed.message)
            message = f"rekindle_{name} cannot be used: {failed.message}"
            fix = f"set rekindle_{name} to a place to which you write, and nobody else."
            yield Complaint(message, fix, "NONE")
        for tried in ("files", "room"):
            failed = host.find_failed(f"{tried}-{name}")
            if not failed or failed.timed_out or failed.message in said:
                continue
            said.add(failed.message)
            fix = f"free space, inodes or quota there, or set rekindle_{name} to another file system."
            yield Complaint(f"rekindle_{name} cannot be used: {failed.message}", fix, "NONE")
    if (failed := host.find_failed("start-root")) and not failed.timed_out:
        fix = "set rekindle_root to a place that is not mounted noexec."
        yield Complaint(f"rekindle_root cannot be used: {failed.message}", fix, "NONE")


_NO_LIMIT = "raise {} in /etc/security/limits.conf, or what sets it at login."


def _limits(host: HostRecord) -> Iterator[Complaint]:
    """Yield a complaint about each limit of the login's that a build or a driver exceeds."""
    figures = {name: int(text) for name, text in host.limits.items() if _FIGURE.fullmatch(text)}
    if (blocks := figures.get("file", MIN_FILE_BLOCKS)) < MIN_FILE_BLOCKS:
        message = f"No file may be larger than {blocks / 2**21:.2f} GiB there (ulimit -f)."
        yield Complaint(message, _NO_LIMIT.format("fsize"), "NONE")
    for name, option, setting in (("memory", "v", "as"), ("data", "d", "data")):
        least = math.inf if host.gpus and name == "memory" else MIN_ADDRESSES_GIB
        if name in figures and (gib := figures[name] / 2**20) < least:
            needs = "CUDA needs more" if least == math.inf else f"{least} GiB are needed"
            message = f"A process may have {gib:.1f} GiB of addresses (ulimit -{option}), and {needs}."
            yield Complaint(message, _NO_LIMIT.format(setting), "NONE")
    if "time" in figures:
        message = f"A process is ended after {figures['time']} s of CPU time (ulimit -t)."
        yield Complaint(message, _NO_LIMIT.format("cpu"), "NONE")


def _needs(host: HostRecord) -> Iterator[Complaint]:
    if host.memory.available_mib < MIN_MEMORY_MIB:
        yield Complaint(
            f"Too little memory is free: {host.memory.available_mib} MiB, {MIN_MEMORY_MIB} MiB are needed.",
            "end what holds it, or raise its group's limit (memory.max, or a batch job's --mem).",
            "RETEST",
        )
    yield from _try(host, _NEEDS)


def _try(host: HostRecord, needs: Mapping[str, str]) -> Iterator[Complaint]:
    for name, fix in needs.items():
        if (failed := host.find_failed(name)) and not failed.timed_out:
            yield Complaint(failed.message, fix, "NONE")


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
                message = f"The free space of {name} cannot be read{visibility.end_with_reason(failed)}"
                yield Complaint(message, fix, "NONE")
        elif disk.free_mib < gb * _MIB_PER_GB:
            free, needed = (
                f"{mib / _MIB_PER_GB:.2f} GB" if gb >= 1 else f"{math.floor(mib)} MiB"
                for mib in (disk.free_mib, gb * _MIB_PER_GB)
            )
            message = f"{name} has too little free space: {free} at {disk.path}, {needed} are needed."
            yield Complaint(message, fix, "NONE")
        elif disk.free_inodes is not None and disk.free_inodes < MIN_INODES[use]:
            yield Complaint(
                f"{name} has too few free inodes: {disk.free_inodes} at {disk.path}, "
                f"{MIN_INODES[use]} are needed.",
                fix,
                "NONE",
            )


def _interpreter(host: HostRecord) -> Iterator[Complaint]:
    if (failed := host.find_failed("interpreter")) and not failed.timed_out:
        yield Complaint(
            f"ansible_python_interpreter cannot be used: {failed.message}",
            "correct it, or leave it out, and preflight finds one.",
            "NONE",
        )


def _python(host: HostRecord) -> Iterator[Complaint]:
    failed = host.find_failed("pythons")
    if _fit(host) or (failed and failed.timed_out):
        return
    found = ", ".join(f"{python.version} at {python.path}" for python in host.pythons) or "none"
    unfit = [f" {failed.message}" for failed in host.problems if failed.name == UNFIT]
    yield Complaint(
        f"No Python from 3.10 to 3.12 is on the host, found: {found}, "
        f"and Rekindle has none for {host.os.architecture}.{''.join(unfit)}",
        "install one of them (such as the packages python3.12 and python3.12-venv).",
        "NONE",
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
