# SPDX-License-Identifier: Apache-2.0
"""A run's folder as one archive, packed on the host; results/archive.py unpacks it."""

import hashlib
import io
import json
import os
import re
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from . import files, folders

TOTAL_LIMIT = 512 << 20
"""Bytes that one run may unpack to on the controller, and that its archive may have."""
FILE_LIMIT = 16 << 20
"""Bytes; larger files (models) stay on the host."""
FILES_LIMIT = 10_000
"""Files and folders together."""
DEPTH_LIMIT = 32
"""Folders in each other."""
NAME_LIMIT = 1024
"""Bytes of a name; 255 of each part of it."""
_LOG = r"(log|log_error|error_log)\.txt(\.\d)?"
"""Of NVFlare, with what it moved out of it."""
_FIRST = (
    re.compile("|".join(map(re.escape, folders.RECORDS))),
    re.compile(rf"{folders.EVIDENCE}/[^/]+\.(jsonl|log)|samples(-[^/]+)?\.jsonl"),
    re.compile(rf"[^/]+\.log|{folders.JOB}/{folders.WORKSPACE}/[^/]+/[^/]+/({_LOG}|([^/]+/)?meta\.json)"),
    re.compile(rf"({folders.AUTOPSY}|{folders.LADDER})/.*|(.*/)?{_LOG}"),
)
"""The most important files, in this order: they come before the rest and may be larger."""
_NEXT = (
    re.compile(rf"{folders.JOB}/{folders.WORKSPACE}/[^/]+/[^/]+/[^/]+/app_[^/]+/[^/]+"),
    re.compile(rf"{folders.JOB}/(?!{folders.WORKSPACE}/).*"),
)
"""Saved models are compared with what was loaded, and then the code with what was sent."""
_NAMED = 1000
_LEFT_LIMIT = 2 << 20
"""Bytes kept free for left.json."""
_ABANDONED_S = 7200
"""No collector takes so long."""


class PackedFiles(NamedTuple):
    """Which files of a folder are in an archive, and which are not."""

    files: dict[str, str]
    """SHA-256 by name."""
    left: dict[str, str]
    """The reason by name, of files and of entire folders, which end with ``/``."""
    closed: list[str]
    """Those in ``left`` that their owner may not read."""

    def leave(self, name: str, error: OSError) -> None:
        """Leave out a file or folder that cannot be read."""
        self.left[name] = str(error.strerror)
        if isinstance(error, PermissionError):
            self.closed.append(name)


def pack_run(run_dir: Path, target: Path) -> PackedFiles:
    """Write the regular files of ``run_dir`` to ``target``: proof first, then by size.

    Links, large files and what cannot be read stay behind; ``left.json`` in the archive, a LeftBehind of
    records/run.py, lists them.
    """
    packed = PackedFiles({}, {}, [])
    made: set[PurePosixPath] = set()
    total = 0
    with tarfile.open(target, "w:gz", format=tarfile.GNU_FORMAT, compresslevel=6) as archive:
        for late, _, name in sorted(_candidates(run_dir, packed)):
            new = set(PurePosixPath(name).parents) - made
            try:
                content = files.read_content(
                    run_dir / name, FILE_LIMIT if late >= len(_FIRST) else files.LIMIT
                )
            except OSError as error:
                packed.leave(name, error)
                continue
            room = TOTAL_LIMIT - _LEFT_LIMIT - total
            if len(packed.files) + len(made) + len(new) >= FILES_LIMIT or len(content) > room:
                packed.left[name] = "there was no room left for it"
                continue
            made, total = made | new, total + len(content)
            packed.files[name] = _add(archive, name, content)
        if packed.left:
            first = sorted(packed.left, key=lambda name: (_lateness(name), name))[:_NAMED]
            named = {name: packed.left[name] for name in first}
            record = {"schema": "rekindle/left/1", "files": named, "more": len(packed.left) - len(named)}
            encoded = json.dumps(record, indent=1, ensure_ascii=False).encode()
            packed.files[folders.LEFT] = _add(archive, folders.LEFT, encoded)
    return packed


def _lateness(name: str) -> int:
    order = (*_FIRST, *_NEXT)
    return next((n for n, pattern in enumerate(order) if pattern.fullmatch(name)), len(order))


def _candidates(run_dir: Path, packed: PackedFiles) -> Iterator[tuple[int, int, str]]:
    """Yield how late each possible file of a run comes, its bytes and its name; leave out others."""

    def unread(error: OSError) -> None:
        packed.leave(_shown(f"{Path(error.filename).relative_to(run_dir).as_posix()}/"), error)

    for where, inner, names in os.walk(run_dir, onerror=unread):
        base = Path(where).relative_to(run_dir)
        if len(base.parts) > DEPTH_LIMIT:
            packed.left[_shown(f"{base.as_posix()}/")] = "it lies too deep"
            inner.clear()
            continue
        links = [folder for folder in inner if Path(where, folder).is_symlink()]
        for name in ((base / entry).as_posix() for entry in (*names, *links)):
            if not is_plain(name) or name == folders.LEFT:
                packed.left[_shown(name)] = "its name is not one that is collected"
                continue
            try:
                yield _lateness(name), (run_dir / name).lstat().st_size, name
            except OSError as error:
                packed.leave(name, error)


def _shown(name: str) -> str:
    return name if is_plain(name.rstrip("/")) else ascii(name)[:NAME_LIMIT]


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> str:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(content), int(time.time())
    archive.addfile(member, io.BytesIO(content))
    return hashlib.sha256(content).hexdigest()


def is_plain(name: str) -> bool:
    """Whether a name is relative, never leads up, and is printable."""
    return (
        name.isprintable()
        and "\\" not in name
        and len(name.encode()) <= NAME_LIMIT
        and all(part not in {"", ".", ".."} and len(part.encode()) <= 255 for part in name.split("/"))
    )


def main() -> None:
    """Pack the run's folder that the command line names, and remove what killed collectors left beside it."""
    os.umask(0o077)
    run_dir, target = Path(sys.argv[1]), Path(sys.argv[2])
    if not run_dir.is_dir():
        sys.exit(f"The host no longer has {run_dir}. Fix: run site.yml again, which runs its job again.")
    for path in run_dir.parent.glob(f"{run_dir.name}.*.tar.gz"):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > _ABANDONED_S:
                path.unlink()
    pack_run(run_dir, target)


if __name__ == "__main__":
    main()
