# SPDX-License-Identifier: Apache-2.0
"""The most that a host fetches from its package index: the files of its locks that it would choose."""

from collections.abc import Iterable, Mapping

from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

from rekindle import locks
from rekindle.environments import Specification
from rekindle.environments.lockfile import read_pins
from rekindle.gpus.models import parse_version
from rekindle.records import HostRecord
from rekindle.solver.catalogue import cut_python_minor


def sum_downloads(specs: Iterable[Specification], host: HostRecord) -> int | None:
    """Return the bytes of all files that ``host`` needs to build ``specs``, each counted once.

    None if a lock names unknown files, as a capsule from another version of Rekindle may.
    """
    known = {file.sha256: file for file in locks.read_known_files()}
    versions = {python.path: python.version for python in host.pythons}
    platforms = locks.list_platforms(host.os.architecture, parse_version(host.os.glibc or "2.17"))
    taken: dict[str, int] = {}
    for spec in specs:
        tags = locks.list_tags(cut_python_minor(versions[spec["python"]]), platforms)
        ranks = {tag: rank for rank, tag in enumerate(tags)}
        for pin in read_pins(spec["lock_text"], host.os.architecture):
            if not pin.digests <= known.keys():
                return None
            _, digest = min((_rank(known[digest].name, ranks), digest) for digest in pin.digests)
            taken[digest] = known[digest].size
    return sum(taken.values())


def _rank(name: str, ranks: Mapping[Tag, int]) -> int:
    """Return the rank of a file for an installer, best first: a wheel by its best tag, then source."""
    if not name.endswith(".whl"):
        return len(ranks)
    return min(ranks.get(tag, len(ranks) + 1) for tag in parse_wheel_filename(name)[3])
