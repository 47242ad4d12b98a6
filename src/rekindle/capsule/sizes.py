"""How much a host fetches from its package index at most: the files of its locks that it would take."""

import functools
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import NamedTuple

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from rekindle.environments.lockfile import pins
from rekindle.environments.specification import Specification
from rekindle.gpus.models import version_key
from rekindle.records import HostRecord
from rekindle.solver.catalogue import python_minor

NEWEST_GLIBC_MINOR = 40  # wheels for a glibc from the future would go unlocked, no more


class File(NamedTuple):
    """A file that our locks name."""

    size: int
    """Bytes."""
    name: str


def to_fetch(specs: Iterable[Specification], host: HostRecord) -> int | None:
    """Return the bytes of all files that ``host`` takes to build ``specs``; what they share comes once.

    None if a lock, of a capsule that another version of Rekindle made, names files that we do not know.
    """
    known, versions = known_files(), {python.path: python.version for python in host.pythons}
    taken: dict[str, int] = {}
    for spec in specs:
        tags = wheel_tags(
            python_minor(versions[spec["python"]]), host.os.architecture, host.os.glibc or "2.17"
        )
        ranks = {tag: rank for rank, tag in enumerate(tags)}
        for pin in pins(spec["lock_text"], host.os.architecture):
            if not pin.digests <= known.keys():
                return None
            _, digest = min((_rank(known[digest].name, ranks), digest) for digest in pin.digests)
            taken[digest] = known[digest].size
    return sum(taken.values())


def _rank(name: str, ranks: Mapping[Tag, int]) -> int:
    """Return how soon an installer takes that file: a wheel by its best tag, or else source."""
    if not name.endswith(".whl"):
        return len(ranks)
    return min(ranks.get(tag, len(ranks) + 1) for tag in parse_wheel_filename(name)[3])


def wheel_tags(python: str, architecture: str, glibc: str) -> list[Tag]:
    """Return the tags of wheels that CPython ``python`` (``3.11``) on Linux can install, the best first."""
    version = tuple(int(part) for part in python.split("."))
    platforms = wheel_platforms(architecture, glibc)
    interpreter = "cp" + "".join(python.split("."))
    return [
        *cpython_tags(version, platforms=platforms),
        *compatible_tags(version, interpreter=interpreter, platforms=platforms),
    ]


def wheel_platforms(architecture: str, glibc: str) -> list[str]:
    """Return the platforms of wheels that a Linux with this glibc (``2.28``) can install, the best first."""
    minors = (minor for minor in range(NEWEST_GLIBC_MINOR, 4, -1) if (2, minor) <= version_key(glibc))
    names = [f"manylinux_2_{minor}" for minor in minors]
    return [
        f"{name}_{architecture}" for name in (*names, "manylinux2014", "manylinux2010", "manylinux1", "linux")
    ]


@functools.cache
def known_files() -> dict[str, File]:
    """Return every file that a lock of ours names, by its SHA-256; scripts/make_locks.py lists them."""
    text = files("rekindle.locks").joinpath("files.list").read_text(encoding="utf-8")
    lines = (line.split() for line in text.splitlines())
    return {digest: File(int(size), name) for digest, size, name in lines}
