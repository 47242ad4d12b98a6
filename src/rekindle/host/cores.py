# SPDX-License-Identifier: Apache-2.0
"""How many processors a process has: those that it may run on, and its share of them."""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath


def count_cores(system: Path = Path("/")) -> int:
    """Return the processors that this process may use at once: by affinity, and by its groups' quotas.

    Args:
        system: where /proc and /sys/fs/cgroup are.
    """
    own = len(os.sched_getaffinity(0))
    return max(1, min([own, *(math.ceil(quota) for quota in _list_quotas(system))]))


def _list_quotas(system: Path) -> Iterator[float]:
    """Yield the quota of each group of this process on the way up, in processors."""
    with suppress(OSError, ValueError):
        for line in (system / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            base = system / "sys/fs/cgroup" / ("cpu" if controllers else "")
            if controllers and "cpu" not in controllers.split(","):
                continue
            inside = PurePosixPath(path.lstrip("/"))
            places = [inside, *inside.parents] if (base / inside).is_dir() else [PurePosixPath()]
            for place in places:
                with suppress(OSError, ValueError, ZeroDivisionError):
                    yield _read_quota(base / place, whole=not controllers)


def _read_quota(group: Path, *, whole: bool) -> float:
    """Return a group's quota, by its file of cgroup 2 or its files of 1.

    Raises:
        OSError, ValueError: it has none.
    """
    names = ("cpu.max",) if whole else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    quota, period = " ".join((group / name).read_text(encoding="utf-8") for name in names).split()
    if float(quota) <= 0:
        raise ValueError(quota)
    return float(quota) / float(period)
