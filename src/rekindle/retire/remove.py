"""The end of a lease, on the host: an archive of what is worth keeping, and the removal of everything.

Standard library alone, as nothing else on the host has to be whole; Ansible brings it (plugins/modules).
"""

from __future__ import annotations

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

from ..host.archive import pack as pack_folder
from ..host.leftovers import end_processes, outside

_FOLDERS = {"runs", "logs", "envs", "cache", "tmp", "jobs"}
"""Everything that Rekindle makes in its root; ``jobs`` has the payload, comes first and goes last."""
_NAMED = 1000
"""Files of a run that are named as not kept."""
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}


class RetireError(RuntimeError):
    """The host cannot be retired; the text is one sentence with the fix."""


def own_root(root: str) -> Path | None:
    """Return Rekindle's folder; None if nothing of Rekindle is there.

    Raises:
        RetireError: the folder is not Rekindle's, or not Rekindle's alone.
    """
    place = Path(os.path.expanduser(root))  # noqa: PTH111 - Path's leaves a ~ that it does not know
    if why := next(_foreign(place), None):
        raise RetireError(
            f"rekindle_root {root} {why}: it is not Rekindle's to remove, and nothing was touched. "
            "Fix: name the folder that site.yml was run with, and keep nothing else in it."
        )
    return place if place.is_dir() and any(place.iterdir()) else None


def pack(root: Path) -> dict[str, Any]:
    """Pack what is worth keeping, logs and every run, where there is room.

    Returns:
        ``place``, a new folder; ``parts``, of each its ``name``, its ``archive`` in place, the SHA-256 of its
        ``files`` and the bytes of those that were ``left`` out; ``environments``, record and lock of each.

    Raises:
        RetireError: there is no room, or something cannot be read.
    """
    folders = [root / "logs", *sorted((root / "runs").glob("*/"))]
    for parent in (root / "tmp", Path("/dev/shm"), Path(tempfile.gettempdir())):
        place = parent / f"rekindle-{secrets.token_hex(8)}"
        try:
            place.mkdir(mode=0o700)
            parts = [
                _pack(place / str(n), folder, root) for n, folder in enumerate(folders) if folder.is_dir()
            ]
            return {"place": str(place), "parts": parts, "environments": _environments(root)}
        except OSError as error:
            shutil.rmtree(place, ignore_errors=True)
            if place.parent.is_dir() and error.errno not in _NO_ROOM:
                said = f"{error.filename} cannot be packed: {error.strerror}."
                raise RetireError(f"{said} Fix: make it readable for its owner.") from None
    raise RetireError(
        f"{root}, /dev/shm and /tmp have no room for the copy. Fix: free some; {root}/cache is not kept."
    )


def remove(root: Path) -> None:
    """End what of Rekindle still runs, and remove it all; interrupted anywhere, it can be called again.

    Raises:
        RetireError: something cannot be removed.
    """
    end_processes(root)
    for folder in outside(root):
        _remove(folder)
    going = root / "tmp" / "going"
    going.mkdir(parents=True, exist_ok=True)
    for name in _FOLDERS - {"tmp", "jobs"}:
        if (root / name).exists():  # at once, so that half a run is never taken for a whole one
            (root / name).rename(Path(tempfile.mkdtemp(dir=going), name))
    for name in ("tmp", "jobs"):
        _remove(root / name)
    with suppress(OSError):  # it is a disk of its own, or lies in a folder that is not ours
        root.rmdir()


def _foreign(place: Path) -> Iterator[str]:
    """Say why ``place`` is not Rekindle's, each the end of a sentence; nothing if it is, or is not there."""
    if not place.is_absolute():
        yield "is a relative path"
    real = place.resolve()
    homes = [Path.home(), *(Path(one.pw_dir) for one in pwd.getpwall() if one.pw_uid == os.getuid())]
    if any(home.resolve().is_relative_to(real) for home in homes):
        yield "is a home folder, or above one"
    if place.is_symlink():
        yield f"is a link to {real}"
    if not place.exists():
        return
    if not place.is_dir():
        yield "is no folder"
    if place.stat().st_uid != os.getuid():
        yield f"belongs to user {place.stat().st_uid}"
    there = sorted(place.iterdir())
    for path in there:
        if path.name not in _FOLDERS or path.is_symlink() or not path.is_dir():
            yield f"has {path.name} in it, which Rekindle did not make"
    mounts = re.findall(r"^(?:\S+ ){4}(\S+)", Path("/proc/self/mountinfo").read_text(encoding="utf-8"), re.M)
    for mount in mounts:
        if mount.startswith(f"{real}/"):
            yield f"has another file system in it, at {mount}"
    jobs = place / "jobs"
    known = any(jobs.glob("rekindle-*.zip")) or (place / "tmp" / "ansible").is_dir()
    interrupted = there == [jobs] and not any(jobs.iterdir())
    if there and not known and not interrupted:
        yield "has none of Rekindle's code in jobs/"


def _pack(aside: Path, folder: Path, root: Path) -> dict[str, Any]:
    archive = aside.with_name(f"{aside.name}.tar.gz")
    packed = pack_folder(folder, archive)
    for name, why in packed.left.items():
        if why == os.strerror(errno.EACCES):  # it would be removed without anybody knowing what it was
            raise PermissionError(errno.EACCES, why, str(folder / name))
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
    found = []
    for path in sorted(root.glob("envs/[!.]*/rekindle-env.json")):
        with suppress(ValueError, KeyError, TypeError):  # half of one is none
            marker = json.loads(path.read_text(encoding="utf-8"))
            found.append({"environment": marker["environment"], "lock_text": marker.get("lock_text", "")})
    return found


def _remove(folder: Path) -> None:
    """Remove ``folder``, also what is read-only in it; links in it are removed and not followed."""
    try:
        for base, names, _ in os.walk(folder):
            for path in (Path(base, name) for name in names):
                if not path.is_symlink() and path.stat().st_mode & 0o700 != 0o700:
                    path.chmod(0o700)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise RetireError(
            f"{error.filename} cannot be removed: {error.strerror}. What is worth keeping is at home. "
            "Fix: remove it as its owner, and run retire.yml again."
        ) from None
