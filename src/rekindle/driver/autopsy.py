# SPDX-License-Identifier: Apache-2.0
"""``autopsy/``: what is kept of a run before it is killed, a file per question, for people and the doctor."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from rekindle.flare.workspace import LOGS
from rekindle.host import files, folders, storage

from .processes import dump_stack

_LIMIT_S = 20
_LAST_LINES = 40
_NCCL_DUMP_S = 3.0
"""torch's heartbeat thread polls its pipe once a second."""


def write_autopsy(run_dir: Path, tmpdir: str, processes: list[psutil.Process], node: str = "") -> None:
    """Write down the state of the run's processes, of the GPUs, ports, disks, kernel and logs.

    Of a further ``node`` of the run, files have its name.
    A question that cannot be answered leaves its reason in its file: an autopsy never fails.
    """
    folder = run_dir / folders.AUTOPSY
    if not node:
        empty_folder(folder)
    questions: dict[str, Callable[[], Iterable[str]]] = {
        "processes": lambda: map(_process, processes),
        "stacks": lambda: (dump_stack(process.pid) for process in processes if _is_python(process)),
        "nvidia-smi": lambda: [_command("nvidia-smi")],
        "ports": lambda: (line for process in processes for line in _ports(process)),
        "disk": lambda: map(_disk, (str(run_dir), tmpdir, "/dev/shm")),
        "kernel": lambda: _command("dmesg", "--time-format", "iso").splitlines()[-200:],
        "logs": lambda: _logs(run_dir),
        "nccl": lambda: _flight_records(run_dir / folders.EVIDENCE, folder),
    }
    if node:
        del questions["logs"]
    for name, answer in questions.items():
        with (folder / f"{name}{'-' if node else ''}{node}.txt").open("w", encoding="utf-8") as stream:
            try:
                stream.writelines(f"{line}\n" for line in answer())
            except Exception as error:
                stream.write(f"{type(error).__name__}: {error}\n")


def empty_folder(folder: Path) -> None:
    """Make an empty folder, and remove whatever the job put in its place."""
    storage.remove_path(folder)
    folder.mkdir(mode=0o700)


def _process(process: psutil.Process) -> str:
    with suppress(psutil.Error, OSError):
        pid, parent, status = process.pid, process.ppid(), process.status()
        seconds, resident = sum(process.cpu_times()[:2]), process.memory_info().rss >> 20
        waits = Path("/proc", str(pid), "wchan").read_text(encoding="utf-8")
        return (
            f"{pid} of {parent} {status} {seconds:.1f} s {resident} MiB {waits} {' '.join(process.cmdline())}"
        )
    return f"{process.pid} has ended"


def _is_python(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return Path(process.exe()).name.startswith("python")
    return False


def _command(*words: str) -> str:
    if not shutil.which(words[0]):
        return f"{words[0]} is not there."
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"{words[0]} gave no answer within {_LIMIT_S} s."
    return done.stdout + done.stderr


def _ports(process: psutil.Process) -> Iterable[str]:
    with suppress(psutil.Error):
        for socket in process.net_connections():
            here, there = (":".join(map(str, address)) or "-" for address in (socket.laddr, socket.raddr))
            yield f"{process.pid} {socket.status} {here} {there}"


def _disk(path: str) -> str:
    usage, nodes = shutil.disk_usage(path), os.statvfs(path)
    return f"{path}: {usage.free >> 20} MiB free of {usage.total >> 20}, {nodes.f_favail} inodes free"


def _logs(run_dir: Path) -> Iterable[str]:
    for path in [*files.find_files(run_dir, LOGS), run_dir / folders.JOB_LOG]:
        try:
            lines = (
                files.read_end(path, _LAST_LINES << 9).decode("utf-8", "replace").splitlines()[-_LAST_LINES:]
            )
        except OSError as error:
            lines = [str(error)]
        yield from (f"== {path.relative_to(run_dir)}", *lines, "")


def _flight_records(evidence: Path, folder: Path) -> Iterable[str]:
    """Ask each rank's torch for its record of collectives; a rank that keeps one has a pipe."""
    pipes = [
        path for path in files.find_files(evidence, "*.pipe") if path.is_fifo() and not path.is_symlink()
    ]
    for pipe in pipes:
        with suppress(OSError):  # nobody reads it: the rank has ended
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            os.write(descriptor, b"1")
            os.close(descriptor)
    time.sleep(_NCCL_DUMP_S if pipes else 0)
    for pipe in pipes:
        record = pipe.with_suffix("")
        yield f"{record.name}: {'kept' if record.exists() else 'no answer'}"
        if record.exists():
            shutil.move(record, folder / record.name)
