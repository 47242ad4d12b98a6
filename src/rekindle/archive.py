"""A run's folder as one archive: packed on the host, unpacked on the controller with no trust in it."""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

_FILE_LIMIT = 16 << 20
"""Bytes; larger files (models) stay on the host."""
_TOTAL_LIMIT = 512 << 20
"""Bytes that one run may unpack to at home."""


class ArchiveError(RuntimeError):
    """An archive from a host is not what a run packs; the text is one sentence."""


def pack(run_dir: Path) -> Path:
    """Write ``run_dir``'s regular files up to 16 MiB to ``<run_dir>.tar.gz`` and return its path."""
    target = run_dir.with_name(f"{run_dir.name}.tar.gz")
    with tarfile.open(target, "w:gz") as archive:
        for path in sorted(run_dir.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= _FILE_LIMIT:
                archive.add(path, path.relative_to(run_dir).as_posix(), recursive=False)
    return target


def unpack(archive: Path, dest: Path) -> None:
    """Unpack into ``dest``; nothing is written outside of it, and no more than 512 MiB into it.

    Raises:
        ArchiveError: the archive is damaged, or holds anything but regular files with plain relative names.
    """
    dest.mkdir(parents=True, exist_ok=True)
    total = 0
    try:
        with tarfile.open(archive, "r:gz") as stream:
            for member in stream:
                total += member.size
                if not member.isreg() or member.name.startswith("/") or total > _TOTAL_LIMIT:
                    raise ArchiveError(
                        f"The host sent {member.name!r}, which no run packs: a link, a device, an absolute "
                        "name, or too much. Fix: do not trust that host; look at its runs/ folder."
                    )
                stream.extract(member, dest, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ArchiveError(
            f"The archive from the host cannot be unpacked: {error}. Fix: collect it again."
        ) from None


if __name__ == "__main__":
    print(pack(Path(sys.argv[1])))
