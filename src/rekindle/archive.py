"""A run's folder as one archive: packed on the host, unpacked on the controller with no trust in it."""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TOTAL_LIMIT = 512 << 20
"""Bytes that one run may unpack to at home, and that its archive may have."""
_FILE_LIMIT = 16 << 20
"""Bytes; larger files (models) stay on the host."""
_FILES_LIMIT = 10_000
_NAME_LIMIT = 1024
"""Bytes of a name; 255 of each part of it."""


class ArchiveError(RuntimeError):
    """An archive from a host is not what a run packs; the text is one sentence."""


def pack(run_dir: Path) -> Path:
    """Write ``run_dir``'s regular files to ``<run_dir>.tar.gz`` and return its path.

    Links, files above 16 MiB and names that are not plain stay behind; of too many files, the largest.
    """
    target = run_dir.with_name(f"{run_dir.name}.tar.gz")
    found = []
    for path in run_dir.rglob("*"):
        name = path.relative_to(run_dir).as_posix()
        if path.is_file() and not path.is_symlink() and _plain(name):
            found.append((path.stat().st_size, name))
    total = 0
    with tarfile.open(target, "w:gz", format=tarfile.GNU_FORMAT, dereference=True) as archive:
        for size, name in sorted(found)[:_FILES_LIMIT]:
            total += size
            if size <= _FILE_LIMIT and total <= TOTAL_LIMIT:
                archive.add(run_dir / name, name, recursive=False)
    return target


@contextmanager
def files_end_at(limit: int) -> Iterator[None]:
    """Keep this process and its children, which fetch an archive, from files above ``limit`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit if hard == -1 else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def unpack(archive: Path, dest: Path, finish: Callable[[Path], object] | None = None) -> None:
    """Have in ``dest`` the files of ``archive`` and no others, all of them or none.

    What ``finish`` does to them, in a folder aside, is done before any of them is there.

    Nothing is written outside of ``dest``, and what was there, be it a link, is neither followed nor kept.

    Raises:
        ArchiveError: the archive is damaged, or holds what no run packs.
    """
    dest.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=dest.parent, prefix=f".{dest.name}.") as aside:
        new = Path(aside, "new")
        new.mkdir(mode=0o700)
        try:
            _extract(archive, new)
        except (tarfile.TarError, zlib.error, OSError, EOFError, RecursionError) as error:
            raise ArchiveError(
                f"The archive from the host cannot be unpacked: {error}. Fix: collect it again."
            ) from None
        if finish:
            finish(new)
        if os.path.lexists(dest):
            dest.rename(Path(aside, "old"))
        new.rename(dest)


def _plain(name: str) -> bool:
    """Whether a name is relative, leads nowhere up, and holds only what a terminal shows as it is."""
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


class _Header(tarfile.TarInfo):
    """A header, refused as it is read: tarfile itself reads extensions of any size into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        """Take what `pack` writes: regular files, and names above 100 bytes."""
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf == bytes(tarfile.BLOCKSIZE):  # the end; tarfile takes any later damage for one
                raise
            raise tarfile.ReadError(str(error)) from None
        longest = {tarfile.REGTYPE: _FILE_LIMIT, tarfile.AREGTYPE: _FILE_LIMIT}
        longest[tarfile.GNUTYPE_LONGNAME] = _NAME_LIMIT + 1
        if header.type not in longest:
            raise _refuse(f"{header.name!r}, a link, a folder, a device or another special file")
        if not 0 <= header.size <= longest[header.type]:
            raise _refuse(f"{header.name!r} of {header.size} bytes")
        return header


def _extract(archive: Path, folder: Path) -> None:
    count = total = 0
    with tarfile.open(archive, "r:gz", tarinfo=_Header) as stream:
        for member in stream:
            count, total = count + 1, total + member.size
            if not _plain(member.name):
                raise _refuse(f"a file named {member.name!r}")
            if count > _FILES_LIMIT or total > TOTAL_LIMIT:
                raise _refuse(f"more than {_FILES_LIMIT} files or {TOTAL_LIMIT >> 20} MiB")
            target = folder / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            content = stream.extractfile(member)
            if content is None:
                raise _refuse(f"{member.name!r} without content")
            with target.open("xb") as copy:
                shutil.copyfileobj(content, copy)


if __name__ == "__main__":
    os.umask(0o077)
    pack(Path(sys.argv[1]))
