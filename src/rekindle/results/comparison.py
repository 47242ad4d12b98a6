# SPDX-License-Identifier: Apache-2.0
"""What differs between runs: verdicts, figures and versions of jobs, and environments of hosts."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rekindle.host import folders
from rekindle.records import Environment, EnvRecord, VerdictRecord
from rekindle.records.base import read_valid
from rekindle.records.verdict import JobRound

from .contents import Results
from .row import Row, RowKind

MUCH = 1.25
"""A figure has changed if it is more than so many times as much, or as little.

Three runs of the same pt_ddp on two H100s differed by up to ×1.13 in duration (34 to 38 s) and ×1.01 in
memory, and not in accuracy. Of two cores that a test suite shares it was ×1.42, which is a change.
"""
_LEAST_S = 10.0
"""Rounds that take less together have no samples/s: in those runs, of 3 s, it differed by ×1.35."""
_DURATION = "duration"
_FIGURES: tuple[tuple[str, str, Callable[[VerdictRecord], float | None]], ...] = (
    (_DURATION, "s", lambda run: run.duration_s),
    ("samples/s", "", lambda run: _samples_per_s(run.rounds)),
    ("GPU memory", "MiB", lambda run: sum(device.peak_memory_mib or 0 for device in run.devices)),
    ("NVFlare's memory", "MiB", lambda run: sum(run.host_memory_mib.values())),
    ("rounds", "", lambda run: len({one.round for one in run.rounds})),
)
"""Name, unit, and how it is read; 0 and None where it was not measured."""


class Figure(msgspec.Struct):
    """One figure of a job, before and after."""

    name: str
    unit: str
    before: float
    after: float

    @property
    def changed(self) -> bool:
        """Whether it differs by more than runs of the same do."""
        return abs(self.after - self.before) > (MUCH - 1) * min(abs(self.before), abs(self.after))

    def __str__(self) -> str:
        """Return it for people."""
        before, after = (f"{of:.0f}" if abs(of) >= 1000 else f"{of:.4g}" for of in (self.before, self.after))
        return f"{self.name} {before} → {after} {self.unit}".rstrip()


class JobComparison(msgspec.Struct):
    """A job of one run and of a later one; without a job, the host itself."""

    host: str
    """In the later run."""
    job: str | None
    before: RowKind | None
    """None: it was not asked for."""
    after: RowKind | None
    cause_before: str | None
    cause: str | None
    figures: list[Figure]
    """Those that both runs have."""
    versions: list[str]
    """What ran other than before, a phrase each."""

    @property
    def breaks(self) -> bool:
        """Whether it passed, and does not any more."""
        return self.before == "PASS" != self.after

    @property
    def slower(self) -> float | None:
        """How many times as long it took as before; None where one did not pass, or was not timed."""
        timed = next((figure for figure in self.figures if figure.name == _DURATION), None)
        return timed.after / timed.before if timed and self.before == self.after == "PASS" else None

    @property
    def changed(self) -> list[Figure]:
        """The figures that differ by more than runs of the same do."""
        return [figure for figure in self.figures if figure.changed]


class Comparison(msgspec.Struct):
    """Two runs."""

    jobs: list[JobComparison]
    left: list[str]
    """Hosts of the first run alone."""
    came: list[str]
    """Hosts of the second run alone."""
    environments: dict[str, list[str]]
    """A sentence for each difference, by the host in the second run; none where they are the same."""


def compare_runs(first: Results, second: Results, folder: Path, other: Path) -> Comparison:
    """Return what differs between two runs, whose results are in ``folder`` and ``other``.

    Runs that have no host in common, as those of two leases, are compared in the order of their hosts.
    """
    left, right = ({host.name: host for host in results.hosts} for results in (first, second))
    names = {name: name for name in left if name in right} or dict(zip(left, right, strict=False))
    jobs: list[JobComparison] = []
    environments = {}
    for name, later in names.items():
        was, now = ({row.job: row for row in host.rows} for host in (left[name], right[later]))
        both = {**was, **now}
        for job in both if len(both) == 1 else filter(None, both):
            # A host without a verdict on the job may have one on itself.
            jobs.append(compare_rows(was.get(job, was.get(None)), now.get(job, now.get(None)), later, job))
        before, after = (
            read_valid(home / folders.ENV_RECORD, EnvRecord) for home in (folder / name, other / later)
        )
        if before and after:
            environments[later] = list(compare_environments(before, after))
    come = set(names.values())
    return Comparison(
        jobs,
        [name for name in left if name not in names],
        [name for name in right if name not in come],
        environments,
    )


def compare_rows(was: Row | None, now: Row | None, host: str, job: str | None) -> JobComparison:
    """Return what differs between the verdicts of two runs on a job of a host."""
    old, new = was and was.verdict, now and now.verdict
    return JobComparison(
        host=host,
        job=job,
        before=was.kind if was else None,
        after=now.kind if now else None,
        cause_before=was.cause if was else None,
        cause=now.cause if now else None,
        figures=list(_figures(old, new)) if old and new else [],
        versions=list(_versions(old, new)) if old and new else [],
    )


def compare_environments(first: EnvRecord, second: EnvRecord) -> Iterator[str]:
    """Yield the differences, environment by environment; time and place of the build do not count."""
    left = {environment.framework: environment for environment in first.environments}
    right = {environment.framework: environment for environment in second.environments}
    for name in sorted(left.keys() | right.keys()):
        if name not in left or name not in right:
            yield f"{name}: only in the {'first' if name in left else 'second'}"
            continue
        old, new = _facts(left[name]), _facts(right[name])
        for label in sorted(old.keys() | new.keys()):
            if old.get(label) != new.get(label):
                yield f"{name}: {label}: {old.get(label, 'absent')} → {new.get(label, 'absent')}"


def _samples_per_s(rounds: Sequence[JobRound]) -> float | None:
    seconds = sum(one.seconds for one in rounds)
    return sum(one.samples for one in rounds) / seconds if seconds >= _LEAST_S else None


def _figures(was: VerdictRecord, now: VerdictRecord) -> Iterator[Figure]:
    for name, unit, read in _FIGURES:
        if (before := read(was)) and (after := read(now)):
            yield Figure(name, unit, before, after)
    for metric in sorted(was.final_metrics.keys() & now.final_metrics.keys()):
        yield Figure(f"final {metric}", "", was.final_metrics[metric], now.final_metrics[metric])


def _versions(was: VerdictRecord, now: VerdictRecord) -> Iterator[str]:
    if not (was.lock_sha256 and now.lock_sha256):
        return
    for name in sorted({*was.versions, *now.versions}):
        if was.versions.get(name) != now.versions.get(name):
            yield f"{name} {was.versions.get(name, 'none')} → {now.versions.get(name, 'none')}"
    if was.lock_sha256 != now.lock_sha256:
        yield "another lock"


def _facts(environment: Environment) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "lock": environment.lock,
        "lock sha256": environment.lock_sha256[:12],
        "python": environment.python_version,
    }
    facts |= {f"package {name}": version for name, version in environment.packages.items()}
    facts |= {f"lent by the host: {name}": version for name, version in environment.system_site.items()}
    build, gpus = environment.probe.get("build"), environment.probe.get("gpus")
    facts |= {f"build {name}": value for name, value in build.items()} if isinstance(build, dict) else {}
    if isinstance(gpus, list):
        gpus = [gpu.get("name") if isinstance(gpu, dict) else gpu for gpu in gpus]
    facts["GPUs"] = gpus
    facts["collective"] = environment.probe.get("collective")
    return facts
