# SPDX-License-Identifier: Apache-2.0
"""The end of a lease, on the host: an archive of what is worth keeping, and the removal of everything.

Standard library alone, as nothing else on the host may work; Ansible sends it (plugins/modules).
"""

import errno
import json
import os
import pwd
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..host import folders
from ..host.archive import pack_run as pack_folder
from ..host.leftovers import end_processes, find_outside

_NAMED = 1000
_OF_DISKS = "lost+found"
"""In a folder where a file system is mounted."""
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


class RetireError(RuntimeError):
    """The host cannot be retired; the text is one sentence with the fix."""


def find_own_root(root: str) -> Path | None:
    """Return Rekindle's folder; None if nothing of Rekindle is there.

    Raises:
        RetireError: the folder is not Rekindle's, or not Rekindle's alone.
    """
    folder = Path(os.path.expanduser(root))  # noqa: PTH111 - Path's leaves a ~ that it does not know
    if why := next(_foreign(folder), None):
        raise RetireError(
            f"rekindle_root {root} {why}: it is not Rekindle's to remove, and nothing was touched. "
            "Fix: name the folder that site.yml was run with, and keep nothing else in it."
        )
    return folder if folder.is_dir() and any(folder.iterdir()) else None


def pack_last_copy(root: Path) -> dict[str, Any]:
    """Pack what is worth keeping, logs and every run, where there is room.

    Returns:
        ``place``, the folder of the archives; ``parts``, each with its ``name``, its ``archive``, the
        SHA-256 of its ``files`` and the bytes of files that were ``left`` out; ``environments``, record and
        lock of each.

    Raises:
        RetireError: there is no room, or something cannot be read.
    """
    runs = sorted((root / folders.RUNS).glob("*/"))
    kept = [folder for folder in (root / folders.LOGS, *runs) if folder.is_dir()]
    for parent in (root / folders.TMP, Path("/dev/shm"), Path(tempfile.gettempdir())):
        aside = parent / f"rekindle-{secrets.token_hex(8)}"
        try:
            aside.mkdir(mode=0o700)
            parts = [_pack(folder, root, aside / f"{number}.tar.gz") for number, folder in enumerate(kept)]
            return {"place": str(aside), "parts": parts, "environments": _environments(root)}
        except OSError as error:
            shutil.rmtree(aside, ignore_errors=True)
            if parent.is_dir() and error.errno not in _NO_ROOM:
                message = f"{error.filename} cannot be packed: {error.strerror}."
                raise RetireError(f"{message} Fix: make it readable for its owner.") from None
    raise RetireError(
        f"{root}, /dev/shm and /tmp have no room for the copy. Fix: free some; {root}/cache is not kept."
    )


def remove_root(root: Path) -> None:
    """End what still runs, and remove all of Rekindle; after an interruption it can be called again.

    Raises:
        RetireError: something cannot be removed.
    """
    end_processes(root)
    for folder in find_outside(root):
        _remove(folder)
    going = root / folders.TMP / "going"
    going.mkdir(parents=True, exist_ok=True)
    # This may run on a Python of ours; the payload in jobs/ marks the folder as ours.
    last = (folders.TMP, folders.PYTHONS, folders.JOBS)
    for name in set(folders.OURS) - set(last):
        if (root / name).exists():  # at once, so that no run is left half removed
            (root / name).rename(Path(tempfile.mkdtemp(dir=going), name))
    for name in last:
        _remove(root / name)
    with suppress(OSError):  # it is a mount point, or its parent is not ours
        root.rmdir()


def _foreign(folder: Path) -> Iterator[str]:
    """Yield each reason why ``folder`` is not Rekindle's, as the end of a sentence."""
    if not folder.is_absolute():
        yield "is a relative path"
    real = folder.resolve()
    homes = [Path.home(), *(Path(user.pw_dir) for user in pwd.getpwall() if user.pw_uid == os.getuid())]
    if any(home.resolve().is_relative_to(real) for home in homes):
        yield "is a home folder, or above one"
    if folder.is_symlink():
        yield f"is a link to {real}"
    if not folder.exists():
        return
    if not folder.is_dir():
        yield "is no folder"
    if folder.stat().st_uid != os.getuid():
        yield f"belongs to user {folder.stat().st_uid}"
    content = sorted(folder.iterdir())
    for path in content:
        if path.name not in {*folders.OURS, _OF_DISKS} or path.is_symlink() or not path.is_dir():
            yield f"has {path.name} in it, which Rekindle did not make"
    mounts = re.findall(r"^(?:\S+ ){4}(\S+)", Path("/proc/self/mountinfo").read_text(encoding="utf-8"), re.M)
    for mount in mounts:
        if mount.startswith(f"{real}/"):
            yield f"has another file system in it, at {mount}"
    jobs = folder / folders.JOBS
    known = any(jobs.glob("rekindle-*.zip")) or (folder / folders.TMP / "ansible").is_dir()
    removal_was_cut_off = content == [jobs] and not any(jobs.iterdir())
    if content and not known and not removal_was_cut_off:
        yield "has none of Rekindle's code in jobs/"


def _pack(folder: Path, root: Path, archive: Path) -> dict[str, Any]:
    """Pack one folder below ``root``; returns a part as `pack_last_copy` does.

    Raises:
        PermissionError: a file is not readable, and would be removed without a copy.
        OSError: the archive cannot be written.
    """
    packed = pack_folder(folder, archive)
    if packed.closed:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder / packed.closed[0]))
    return {
        "name": folder.relative_to(root).as_posix(),
        "archive": archive.name,
        "files": packed.files,
        "left": {name: _size(folder / name) for name in sorted(packed.left)[:_NAMED]},
    }


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0


def _environments(root: Path) -> list[dict[str, Any]]:
    environments = []
    for path in sorted(root.glob(f"{folders.ENVS}/[!.]*/{folders.ENV_MARKER}")):
        with suppress(ValueError, KeyError, TypeError):  # it is incomplete
            marker = json.loads(path.read_text(encoding="utf-8"))
            environments.append(
                {"environment": marker["environment"], "lock_text": marker.get("lock_text", "")}
            )
    return environments


def _remove(folder: Path) -> None:
    """Remove ``folder``, including read-only content; links are removed and not followed."""
    try:
        for base, names, _ in os.walk(folder):
            for path in (Path(base, name) for name in names):
                if not path.is_symlink() and path.stat().st_mode & 0o700 != 0o700:
                    path.chmod(0o700)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise RetireError(
            f"{error.filename} cannot be removed: {error.strerror}. "
            "What is worth keeping is on the controller. "
            "Fix: remove it as its owner, and run retire.yml again."
        ) from None
