# SPDX-License-Identifier: Apache-2.0
"""A run's folder as one archive: packed on the host, unpacked on the controller without trust."""

import gzip
import hashlib
import io
import json
import os
import re
import resource
import shutil
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from . import files, folders, storage

TOTAL_LIMIT = 512 << 20
"""Bytes that one run may unpack to on the controller, and that its archive may have."""
FILE_LIMIT = 16 << 20
"""Bytes; larger files (models) stay on the host."""
_FILES_LIMIT = 10_000
"""Files and folders together."""
_DEPTH_LIMIT = 32
"""Folders in each other."""
_NAME_LIMIT = 1024
"""Bytes of a name; 255 of each part of it."""
_LONGEST = {tarfile.REGTYPE: files.LIMIT, tarfile.GNUTYPE_LONGNAME: _NAME_LIMIT + 1}
"""Bytes that may follow a header, by each type of header that `pack_run` writes."""
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


class ArchiveError(RuntimeError):
    """An archive from a host is not what a run packs; the text is one sentence."""


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
            if len(packed.files) + len(made) + len(new) >= _FILES_LIMIT or len(content) > room:
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
        if len(base.parts) > _DEPTH_LIMIT:
            packed.left[_shown(f"{base.as_posix()}/")] = "it lies too deep"
            inner.clear()
            continue
        links = [folder for folder in inner if Path(where, folder).is_symlink()]
        for name in ((base / entry).as_posix() for entry in (*names, *links)):
            if not _plain(name) or name == folders.LEFT:
                packed.left[_shown(name)] = "its name is not one that is collected"
                continue
            try:
                yield _lateness(name), (run_dir / name).lstat().st_size, name
            except OSError as error:
                packed.leave(name, error)


def _shown(name: str) -> str:
    return name if _plain(name.rstrip("/")) else ascii(name)[:_NAME_LIMIT]


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> str:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(content), int(time.time())
    archive.addfile(member, io.BytesIO(content))
    return hashlib.sha256(content).hexdigest()


@contextmanager
def limit_files(limit: int) -> Iterator[None]:
    """Keep this process and its children, which fetch an archive, from files above ``limit`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit if hard == -1 else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def unpack_archive(archive: Path, dest: Path, finish: Callable[[Path], object] | None = None) -> None:
    """Replace ``dest`` by the files of ``archive``, all of them or none.

    ``finish`` is called first on the folder aside in which they are unpacked.

    Nothing is written outside of ``dest``; a link in its place is replaced, not followed.

    Raises:
        ArchiveError: the archive is damaged, or holds what no run packs.
    """
    with replace_folder(dest) as new:
        try:
            _extract(archive, new)
        except (tarfile.TarError, zlib.error, OSError, EOFError) as error:
            message = f"The archive from the host cannot be unpacked: {error}. Fix: collect it again."
            raise ArchiveError(message) from None
        if finish:
            finish(new)


@contextmanager
def replace_folder(dest: Path) -> Iterator[Path]:
    """Make a new folder that takes the place of ``dest`` at the end, unless this fails."""
    with _aside(dest) as aside:
        new = aside / "new"
        new.mkdir(mode=0o700)
        yield new
        with storage.lock_folder(dest.parent):
            if os.path.lexists(dest):
                dest.rename(aside / "old")
            new.rename(dest)


@contextmanager
def _aside(dest: Path) -> Iterator[Path]:
    """Make a folder beside ``dest`` while this goes on, and remove those whose makers were killed."""
    storage.make_folder(dest.parent)
    with ExitStack() as held:
        with storage.lock_folder(dest.parent):
            for path in dest.parent.glob(f".{dest.name}.*"):
                with suppress(OSError), storage.lock_folder(path, wait=False):
                    shutil.rmtree(path)
            aside = Path(tempfile.mkdtemp(dir=dest.parent, prefix=f".{dest.name}."))
            held.enter_context(storage.lock_folder(aside))
        held.callback(shutil.rmtree, aside)
        yield aside


def _plain(name: str) -> bool:
    """Whether a name is relative, never leads up, and is printable."""
    return (
        name.isprintable()
        and "\\" not in name
        and len(name.encode()) <= _NAME_LIMIT
        and all(part not in {"", ".", ".."} and len(part.encode()) <= 255 for part in name.split("/"))
    )


def _refuse(what: str) -> ArchiveError:
    return ArchiveError(
        f"The host sent {what}, which no run packs. Fix: do not trust that host; look at its runs/ folder."
    )


def _members(stream: gzip.GzipFile) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file; check a header before reading what it announces.

    The headers are read here, as tarfile reads extensions of any size into memory.
    """
    end, name = bytes(tarfile.BLOCKSIZE), None
    while (block := stream.read(tarfile.BLOCKSIZE)) != end or name is not None:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if header.type not in _LONGEST:
            raise _refuse(f"{header.name!r}, a link, a folder, a device or another special file")
        if not 0 <= header.size <= _LONGEST[header.type]:
            raise _refuse(f"{header.name!r} of {header.size} bytes")
        content = stream.read(header.size + -header.size % tarfile.BLOCKSIZE)[: header.size]
        if len(content) < header.size:
            raise tarfile.ReadError("unexpected end of data")
        if header.type == tarfile.REGTYPE:
            yield header.name if name is None else name, content
            name = None
        elif name is None:
            name = content.rstrip(b"\0").decode("utf-8", "surrogateescape")
        else:
            raise tarfile.ReadError("two long names for one file")


def _extract(archive: Path, folder: Path) -> None:
    total = 0
    made: set[PurePosixPath] = set()
    with gzip.open(archive) as stream:
        for name, content in _members(stream):
            if not _plain(name):
                raise _refuse(f"a file named {name!r}")
            path = PurePosixPath(name)
            made.update([path, *(around := path.parents[:-1])])
            if len(around) > _DEPTH_LIMIT:
                raise _refuse(f"{len(around)} folders in each other")
            total += len(content)
            if len(made) > _FILES_LIMIT or total > TOTAL_LIMIT:
                raise _refuse(f"more than {_FILES_LIMIT} files and folders or {TOTAL_LIMIT >> 20} MiB")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as copy:
                copy.write(content)


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
