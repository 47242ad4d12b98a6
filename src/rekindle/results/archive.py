# SPDX-License-Identifier: Apache-2.0
"""The archive of a run that a host packed (host/archive.py), unpacked on the controller without trust."""

import gzip
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath

from rekindle.host import files, storage
from rekindle.host.archive import DEPTH_LIMIT, FILES_LIMIT, NAME_LIMIT, TOTAL_LIMIT, is_plain
from rekindle.records import Complaint

_LONGEST = {tarfile.REGTYPE: files.LIMIT, tarfile.GNUTYPE_LONGNAME: NAME_LIMIT + 1}
"""Bytes that may follow a header, by each type of header that `pack_run` writes."""


def unpack_archive(archive: Path, dest: Path, finish: Callable[[Path], object] | None = None) -> None:
    """Replace ``dest`` by the files of ``archive``, all of them or none.

    ``finish`` is called first on the folder aside in which they are unpacked.

    Nothing is written outside of ``dest``; a link in its place is replaced, not followed.

    Raises:
        Complaint: the archive is damaged, or holds what no run packs.
    """
    with replace_folder(dest) as new:
        try:
            _extract(archive, new)
        except (tarfile.TarError, zlib.error, OSError, EOFError) as error:
            message = f"The archive from the host cannot be unpacked: {error}."
            raise Complaint(message, "collect it again.") from None
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
                with suppress(OSError), storage.lock_folder(path, wait_s=0):
                    shutil.rmtree(path)
            aside = Path(tempfile.mkdtemp(dir=dest.parent, prefix=f".{dest.name}."))
            held.enter_context(storage.lock_folder(aside))
        held.callback(shutil.rmtree, aside)
        yield aside


def _refuse(what: str) -> Complaint:
    fix = "do not trust that host; look at its runs/ folder."
    return Complaint(f"The host sent {what}, which no run packs.", fix)


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
            if not is_plain(name):
                raise _refuse(f"a file named {name!r}")
            path = PurePosixPath(name)
            made.update([path, *(around := path.parents[:-1])])
            if len(around) > DEPTH_LIMIT:
                raise _refuse(f"{len(around)} folders in each other")
            total += len(content)
            if len(made) > FILES_LIMIT or total > TOTAL_LIMIT:
                raise _refuse(f"more than {FILES_LIMIT} files and folders or {TOTAL_LIMIT >> 20} MiB")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as copy:
                copy.write(content)
