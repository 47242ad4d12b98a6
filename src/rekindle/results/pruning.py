# SPDX-License-Identifier: Apache-2.0
"""Which runs may go: old ones that have no job's last PASS and no failure that is still open."""

from collections.abc import Mapping
from pathlib import Path

from .causes import NO_FAILURE
from .gather import Results

_Key = tuple[str, str | None]


def removable(found: Mapping[Path, Results], keep: int) -> list[Path]:
    """Return the folders of runs that may be removed, the oldest first.

    Args:
        found: every run that can be read, by its folder.
        keep: how many of the newest stay in any case.
    """
    newest = sorted(found, key=lambda path: (found[path].playbook.newest, path.name), reverse=True)
    proven, judged, removed = set[_Key](), set[_Key](), []
    for place, path in enumerate(newest):
        passes, fails = _last(found[path])
        needed = (passes - proven) | (fails - judged)
        proven |= passes
        judged |= passes | fails | {(host, None) for host, _ in passes}
        if place >= keep and not needed and found[path].state != "running":
            removed.append(path)
    return removed[::-1]


def _last(results: Results) -> tuple[set[_Key], set[_Key]]:
    """Return what passed in a run and what failed, by host and job; the job of a host itself is None."""
    rows = [((row.host, row.job), row.kind) for host in results.hosts for row in (*host.rows, *host.earlier)]
    passes = {key for key, kind in rows if kind == "PASS"}
    return passes, {key for key, kind in rows if kind not in NO_FAILURE}
