# SPDX-License-Identifier: Apache-2.0
"""What is sent to a host: this package without its locks, and the jobs, in one zip file to import from.

From a git checkout only tracked files are sent. The file's name has the digest of its content.
"""

import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from . import folders
from .git import ask_git
from .paths import PACKAGE

_JOBS = "flare_jobs"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack_payload(jobs: Path, others: Mapping[str, Path] = MappingProxyType({})) -> bytes:
    """Return the content of a payload, which is the same of the same files.

    Args:
        jobs: folder of jobs, which are all sent.
        others: folders of the code of further jobs, by the jobs' names.
    """
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for root, prefix, names in (
            (PACKAGE, "rekindle", _own(PACKAGE, _sent())),
            (jobs, _JOBS, list_travelling(jobs)),
            *((code, f"{_JOBS}/{name}", list_travelling(code)) for name, code in sorted(others.items())),
        ):
            for name in names:
                entry = zipfile.ZipInfo(f"{prefix}/{name}", _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, (root / name).read_bytes())
    return content.getvalue()


def _sent() -> list[str]:
    """Return the files of this package that hosts need; a specification has the text of its lock."""
    return [name for name in _every(PACKAGE) if not name.startswith("locks/")]


def write_payload(data: bytes, folder: Path) -> Path:
    """Return the payload's file in ``folder``, which is named by its content."""
    target = folder / f"rekindle-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:  # each host has a process that does this
            partial = Path(aside, target.name)
            partial.write_bytes(data)
            partial.replace(target)
    return target


def list_travelling(root: Path) -> list[str]:
    """Return the files below ``root`` to send, relative to it: those that git tracks, or else all.

    Links to what is not sent, names that begin with a dot, Python's caches and results are excluded.
    """
    return _own(root, _git(root, "--cached") or _every(root))


def digest_payload(root: Path) -> str:
    """Return a digest of the files of ``root`` that travel."""
    found = hashlib.sha256()
    for name in list_travelling(root):
        found.update(hashlib.sha256(name.encode()).digest())
        found.update(hashlib.sha256((root / name).read_bytes()).digest())
    return found.hexdigest()[:12]


def list_left_behind(root: Path) -> list[str]:
    """Return the files below ``root`` that are not sent as git does not track them yet."""
    return _own(root, _git(root, "--others", "--exclude-standard")) if _git(root, "--cached") else []


def does_travel(name: str) -> bool:
    """Return whether a file of that name is sent: it is neither hidden nor a cache of Python's."""
    return not any(part.startswith(".") or part == "__pycache__" for part in PurePosixPath(name).parts)


def is_outside(name: str) -> bool:
    """Whether a path leads out of the folder that it is relative to."""
    return PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts


def _own(root: Path, names: list[str]) -> list[str]:
    home, listed = root.resolve(), {*names}

    @cache  # a folder has many
    def linked(path: PurePosixPath) -> bool:
        return bool(path.name) and ((root / path).is_symlink() or linked(path.parent))

    def owns(name: str) -> bool:
        file = name
        if is_outside(name):  # as an index that was written by hand may have it
            return False
        if linked(PurePosixPath(name)):
            real = (root / name).resolve()
            file = real.relative_to(home).as_posix() if real.is_relative_to(home) else ""
        return file in listed and does_travel(name) and does_travel(file) and (root / name).is_file()

    return sorted({name for name in names if owns(name)})


def _git(root: Path, *options: str) -> list[str]:
    """Return what git lists below ``root``; nothing where there is no git or no checkout."""
    try:
        listed = ask_git("ls-files", "-z", *options, ".", folder=root)
    except (OSError, subprocess.SubprocessError):
        return []
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def _every(root: Path) -> list[str]:
    found = []
    for base, inside, names in os.walk(root):
        if folders.PLAY_RECORD in names and Path(base).parent == root / "results":  # of a play from here
            inside.clear()
        else:
            found += [Path(base, name).relative_to(root).as_posix() for name in names]
    return found


def name_data(job: str) -> str:
    """Return the name under which the data of a user's job are sent."""
    return f"{job}.data"


def read_job_files(payload: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each file of job ``name`` in a payload.

    Raises:
        OSError: the payload cannot be read.
        zipfile.BadZipFile: it is damaged.
    """
    prefix = f"{_JOBS}/{name}/"
    with zipfile.ZipFile(payload) as archive:
        for entry in archive.infolist():
            if entry.filename.startswith(prefix):
                yield entry.filename.removeprefix(prefix), archive.read(entry)


def extract_job(name: str, target: Path) -> None:
    """Copy the files of job ``name`` out of the payload that this code was imported from, into ``target``."""
    for file, content in read_job_files(PACKAGE.parent, name):
        destination = target / file
        destination.parent.mkdir(parents=True, exist_ok=True)
        destination.write_bytes(content)
