# SPDX-License-Identifier: Apache-2.0
"""The locks: a lock's file here has its pins, and files.list the files of all pins.

``text`` joins both to what hosts get: each pin with the SHA-256 of every file that such a host can install.
scripts/make_locks.py writes them.
"""

import functools
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import product
from typing import NamedTuple

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

DRIVER = "driver.txt"
"""The lock of the driver's own environment."""
NEWER_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""For which a lock of "3.10 and newer" has files too."""
_NEWEST_GLIBC_MINOR = 40  # wheels for a glibc from the future would go unlocked, no more
_FOR = re.compile(
    r"# .{1,99} for Python (?P<python>\S+)(?P<newer> and newer)? on Linux (?P<machines>.{1,99}), glibc"
)
_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; platform_machine == '(?P<machine>\w+)')?$")


class File(NamedTuple):
    """A file of a pin."""

    sha256: str
    size: int
    """Bytes."""
    name: str


def list_platforms(architecture: str, glibc: tuple[int, ...] = (2, _NEWEST_GLIBC_MINOR)) -> list[str]:
    """Return the platforms of wheels that a Linux with ``glibc`` can install, the best first."""
    minors = (minor for minor in range(_NEWEST_GLIBC_MINOR, 4, -1) if (2, minor) <= glibc)
    names = [f"manylinux_2_{minor}" for minor in minors]
    return [
        f"{name}_{architecture}" for name in (*names, "manylinux2014", "manylinux2010", "manylinux1", "linux")
    ]


def list_tags(python: str, platforms: Iterable[str]) -> list[Tag]:
    """Return the tags of wheels that CPython ``python`` (``3.11``) can install on these, the best first."""
    version, names = tuple(int(part) for part in python.split(".")), list(platforms)
    interpreter = "cp" + "".join(python.split("."))
    return [
        *cpython_tags(version, platforms=names),
        *compatible_tags(version, interpreter=interpreter, platforms=names),
    ]


@functools.cache
def list_locks() -> frozenset[str]:
    """Return the file name of every lock."""
    return frozenset(path.name for path in files(__name__).iterdir() if path.name.endswith(".txt"))


@functools.cache
def read_lock(name: str) -> str:
    """Return the hash-pinned text of the lock ``name``, one of ``names()``."""
    return render_lock(files(__name__).joinpath(name).read_text(encoding="utf-8"), read_known_files())


@functools.cache
def list_lock_packages(environment: str) -> frozenset[str]:
    """Return the names in a lock of an environment (``torch+vision``) that brings its own framework."""
    own = sorted(
        name for name in list_locks() if name.startswith(f"{environment}-") and "-system-" not in name
    )
    lines = files(__name__).joinpath(own[-1]).read_text(encoding="utf-8").splitlines() if own else []
    return frozenset(pin["name"] for line in lines if (pin := _PIN.match(line)))


@functools.cache
def digest_lock(name: str) -> str | None:
    """Return the digest of that text; None if there is no such lock."""
    return hashlib.sha256(read_lock(name).encode()).hexdigest() if name in list_locks() else None


@functools.cache
def read_known_files() -> tuple[File, ...]:
    """Return every file of files.list."""
    listed = files(__name__).joinpath("files.list").read_text(encoding="utf-8")
    lines = (line.split() for line in listed.splitlines())
    return tuple(File(digest, int(size), name) for digest, size, name in lines)


def render_lock(pins: str, known: tuple[File, ...]) -> str:
    """Return ``pins`` with the digests of those files of each that a host of the lock can install.

    Args:
        pins: first a comment that has the lock's Pythons and architectures, then a pin in each line.
        known: files; source counts where a Python and architecture has no wheel.

    Raises:
        ValueError: a pin has no such file, or a line is neither.
    """
    head, *lines = pins.splitlines()
    of_lock = _FOR.match(head)
    rows = [head]
    for line in lines:
        pin = _PIN.match(line)
        if pin is None or of_lock is None:
            raise ValueError(f"{line!r} under {head!r} is no pin of a lock")
        pythons = [of_lock["python"], *(NEWER_PYTHONS if of_lock["newer"] else ())]
        machines = [pin["machine"]] if pin["machine"] else of_lock["machines"].split(" and ")
        digests = {
            digest
            for python, machine in product(pythons, machines)
            for digest in _installable(known, python, machine).get((pin["name"], pin["version"]), ())
        }
        if not digests:
            raise ValueError(f"files.list has no file of {line!r} under {head!r}")
        rows.append(" \\\n".join([line, *(f"    --hash=sha256:{digest}" for digest in sorted(digests))]))
    return "\n".join(rows) + "\n"


@functools.cache
def _installable(
    known: tuple[File, ...], python: str, architecture: str
) -> Mapping[tuple[str, str], set[str]]:
    """Return the digests of what can be installed of each name and version."""
    tags = frozenset(list_tags(python, list_platforms(architecture)))
    wheels: dict[tuple[str, str], set[str]] = defaultdict(set)
    sources: dict[tuple[str, str], set[str]] = defaultdict(set)
    for file in known:
        name, version, its_tags = _parsed(file.name)
        if its_tags is None:
            sources[name, version].add(file.sha256)
        elif its_tags & tags:
            wheels[name, version].add(file.sha256)
    return {**sources, **wheels}


@functools.cache
def _parsed(name: str) -> tuple[str, str, frozenset[Tag] | None]:
    if not name.endswith(".whl"):
        distribution, version = parse_sdist_filename(name)
        return distribution, str(version), None
    distribution, version, _, tags = parse_wheel_filename(name)
    return canonicalize_name(distribution), str(version), tags
