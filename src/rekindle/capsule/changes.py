# SPDX-License-Identifier: Apache-2.0
"""What changed from one run to another: verdicts, figures and environments of the same hosts."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rekindle.host import folders
from rekindle.records import EnvRecord, VerdictRecord
from rekindle.records.base import read_valid
from rekindle.results.causes import alike
from rekindle.results.gather import Results
from rekindle.results.row import Row

from .differences import differences

_MUCH = 1.25
"""More than so many times as much, or as little, is a change."""


class Change(NamedTuple):
    """What changed, and the hosts on which it did alike."""

    message: str
    """Of the first host."""
    hosts: list[str]
    exact: bool
    """Whether the figures are of all of them."""


class Changes(NamedTuple):
    """What changed, in the order in which it is shown, and of what did not how much there is."""

    found: list[tuple[str, str]]
    """Host and sentence: verdicts, then figures, then environments."""
    same_verdicts: int
    same_environments: int

    @property
    def grouped(self) -> list[Change]:
        """Each change once."""
        groups: dict[str, list[tuple[str, str]]] = {}
        hosts = {host for host, _ in self.found}
        for host, message in self.found:
            groups.setdefault(alike(message, hosts), []).append((host, message))
        return [
            Change(of[0][1], [host for host, _ in of], len({message for _, message in of}) == 1)
            for of in groups.values()
        ]


def changes(first: Results, second: Results, folder: Path, other: Path) -> Changes:
    """Return what changed from the first run to the second; ``folder`` and ``other`` are theirs.

    Runs that have no host in common, as those of two leases, are compared in the order of their hosts.
    """
    left, right = ({host.name: host for host in results.hosts} for results in (first, second))
    names = {name: name for name in left if name in right} or dict(zip(left, right, strict=False))
    gone = [(name, "only in the first run") for name in left if name not in names]
    come = [(name, "only in the second run") for name in right if name not in names.values()]
    verdicts, figures, environments = [], [], []
    same = same_environments = 0
    for name, later in names.items():
        was, now = ({row.job: row for row in host.rows} for host in (left[name], right[later]))
        for job in {**was, **now}:
            old, new = was.get(job), now.get(job)
            if old and new and old.kind == new.kind:
                same += 1
                figures += [(later, f"{job or 'the host'}: {figure}") for figure in _figures(old, new)]
                continue
            kinds = " → ".join(row.kind if row else "not asked for" for row in (old, new))
            cause = f": {new.cause}" if new and new.cause else ""
            verdicts.append((later, f"{job or 'the host'}: {kinds}{cause}"))
        before, after = (
            read_valid(home / folders.ENV_RECORD, EnvRecord) for home in (folder / name, other / later)
        )
        if before and after:
            differing = [(later, sentence) for sentence in differences(before, after)]
            environments += differing
            same_environments += not differing
    return Changes([*gone, *come, *verdicts, *figures, *environments], same, same_environments)


def _figures(old: Row, new: Row) -> Iterator[str]:
    if not (old.verdict and new.verdict):
        return
    before, after = _measured(old.verdict), _measured(new.verdict)
    for name in (name for name in before if name in after):
        low, high = sorted(map(abs, (before[name], after[name])))
        if high > low * _MUCH:
            yield f"{name} {before[name]:.4g} → {after[name]:.4g}"


def _measured(verdict: VerdictRecord) -> dict[str, float]:
    seconds = sum(one.seconds for one in verdict.rounds)
    samples = {"samples/s": sum(one.samples for one in verdict.rounds) / seconds} if seconds > 0 else {}
    took = {"seconds": verdict.duration_s} if verdict.duration_s is not None else {}
    memory = {"GiB of GPU memory": sum(device.peak_memory_mib or 0 for device in verdict.devices) / 1024}
    return {
        **took,
        **samples,
        **memory,
        **{f"final {n}": value for n, value in verdict.final_metrics.items()},
    }
