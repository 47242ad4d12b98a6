# SPDX-License-Identifier: Apache-2.0
"""The board of many runs: the current verdict by job, environment, host and release of NVFlare."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, TypeVar

import msgspec

from rekindle.judge.known_issues import KnownIssue
from rekindle.records import PlanRecord
from rekindle.records.text import shorten_text

from .comparison import JobComparison, compare_rows
from .contents import Results
from .journal import BEFORE_JOBS
from .row import Row, RowKind, State

T = TypeVar("T")

_PAST = 20
"""Runs of which a trend is drawn."""
_NO_VERDICT = {"READY", "RETIRED", "RUNNING"}


class Past(msgspec.Struct):
    """One run's result for a line."""

    run: str
    began: str
    verdict: RowKind
    duration_s: float | None


class BoardLine(msgspec.Struct):
    """The newest verdict on a job in one environment on one host, under one release of NVFlare."""

    job: str | None
    """None: the newest result for the host itself."""
    host: str
    framework: str | None
    version: str | None
    build: str | None
    nvflare: str | None
    examples: str | None
    verdict: RowKind
    good: bool
    """Whether it is PASS, or a KNOWN_ISSUE that is listed and has not expired."""
    required: bool
    other_version: bool
    cause: str | None
    notice: str | None
    known_issue: str | None
    expires: str | None
    """ISO date from which it excuses nothing; None if it is no longer listed."""
    source: str | None
    duration_s: float | None
    run: str
    began: str
    """Start of the newest run on that host, by the controller's clock."""
    since: str
    since_run: str
    """First of the runs that have had this verdict without a break."""
    was: RowKind | None
    """Verdict of the run before the newest; None if there is none."""
    slower: float | None
    """How many times as long it took as then; None where one of them did not pass, or was not timed."""
    changed: list[str]
    """Differences from that run."""
    past: list[Past]
    """The last runs, the newest last."""


class Board(msgspec.Struct):
    """Every line, and whether all that are required are good."""

    schema: Literal["rekindle/board/1"]
    state: State
    lines: list[BoardLine]
    unread: list[str]
    """A sentence for each run that was not read."""


class _Place(NamedTuple):
    framework: str | None = None
    version: str | None = None
    build: str | None = None
    nvflare: str | None = None


class _Entry(NamedTuple):
    began: str
    run: str
    row: Row
    plan: PlanRecord | None


def make_board_of_runs(
    runs: Iterable[Results],
    frameworks: Mapping[str, str],
    issues: Mapping[str, KnownIssue],
    now: str,
    unread: list[str],
) -> Board:
    """Return the board.

    Args:
        runs: in any order.
        frameworks: the environment of each job that is known.
        issues: the known issues by name.
        now: timestamp of the board.
        unread: a sentence for each run that was not read.
    """
    histories: dict[tuple[str, str | None], list[_Entry]] = {}
    newest: dict[str, tuple[str, str]] = {}
    for results in runs:
        for host in results.hosts:
            playbook = results.playbook
            checked = host.name in playbook.checked
            if checked and host.name not in playbook.began:
                continue
            asks = not checked and playbook.asked.get(host.name) not in BEFORE_JOBS
            run = (playbook.began.get(host.name, playbook.started), playbook.run)
            newest[host.name] = max(run, newest.get(host.name, run))
            for row in (*host.rows, *host.earlier):
                if row.kind in _NO_VERDICT or not (row.verdict or asks or not (row.job or checked)):
                    continue
                sent = row.at or (playbook.started if row in host.earlier else run[0])
                entry = _Entry(min(sent, run[0]), playbook.run, row, host.plan)
                histories.setdefault((host.name, row.job), []).append(entry)
    lines = []
    for (name, job), history in histories.items():
        if job is None:
            entries = [entry for entry in history if entry[:2] == newest[name]]
            lines += [_line(_Place(), [entry], None, issues, now) for entry in entries]
        else:
            history.sort(key=lambda entry: entry[:2])
            lines += _lines(history, frameworks.get(job), issues, now)
    lines.sort(key=lambda line: (line.job or "", line.host, line.framework or "", line.began))
    required = [line for line in lines if line.required]
    bad = [line for line in required if not line.good]
    state: State = "unknown" if unread else "ok"
    if bad or not required:
        state = "unknown" if bad and all(line.other_version for line in bad) else "failed"
    return Board("rekindle/board/1", state, lines, unread)


def _lines(
    history: list[_Entry], framework: str | None, issues: Mapping[str, KnownIssue], now: str
) -> Iterator[BoardLine]:
    verdicts = [entry.row.verdict for entry in history]
    releases = _filled([verdict.versions.get("nvflare") if verdict else None for verdict in verdicts])
    builds = _filled([_build(entry, framework) for entry in history])
    places: dict[_Place, list[int]] = {}
    for number, (build, release) in enumerate(zip(builds, releases, strict=True)):
        place = (build or _Place(framework))._replace(nvflare=release)
        places.setdefault(place, []).append(number)
    for place, numbers in places.items():
        before = (
            numbers[-2] if len(numbers) > 1 else numbers[0] - 1
        )  # the first in a place follows one in another
        was = history[before].row if before >= 0 else None
        yield _line(place, [history[number] for number in numbers], was, issues, now)


def _filled(values: list[T | None]) -> list[T | None]:
    """Return what each run recorded; a run that ended early has its neighbour's."""
    last = next((value for value in values if value is not None), None)
    return [last := last if value is None else value for value in values]


def _build(entry: _Entry, framework: str | None) -> _Place | None:
    """Return framework, version and build by the run's lock, or else as they were planned."""
    verdict = entry.row.verdict
    lock = verdict.lock_sha256 if verdict else None
    for build in (planned.build for planned in (entry.plan.environments if entry.plan else ())):
        if build and (build.lock_sha256 == lock or (lock is None and build.framework == framework)):
            return _Place(build.framework, build.version, build.variant)
    version = verdict.versions.get((framework or "").partition("+")[0]) if verdict else None
    return _Place(framework, version) if framework and version else None


def _line(
    place: _Place, history: list[_Entry], was: Row | None, issues: Mapping[str, KnownIssue], now: str
) -> BoardLine:
    newest = first = history[-1]
    row, verdict = newest.row, newest.row.verdict
    found = compare_rows(was, row, row.host, row.job) if was else None
    for entry in reversed(history):
        if entry.row.kind != row.kind:
            break
        first = entry
    issue = issues.get(verdict.known_issue) if verdict and verdict.known_issue else None
    excused = row.kind == "KNOWN_ISSUE" and issue is not None and not issue.has_expired(now)
    removed = verdict is not None and verdict.known_issue is not None and issue is None
    return BoardLine(
        **place._asdict(),
        job=row.job,
        host=row.host,
        examples=verdict.versions.get("examples") if verdict else None,
        verdict=row.kind,
        good=row.kind == "PASS" or excused,
        required=row.required,
        other_version=row.other_version,
        cause=row.cause,
        notice=str(row.notice) if row.notice and not removed else None,
        known_issue=verdict.known_issue if verdict else None,
        expires=issue.expires if issue else None,
        source=issue.source if issue else None,
        duration_s=row.duration_s,
        run=newest.run,
        began=newest.began,
        since=first.began,
        since_run=first.run,
        was=was.kind if was else None,
        slower=found.slower if found else None,
        changed=[*_changed(row, was, found)] if was and found else [],
        past=[
            Past(entry.run, entry.began, entry.row.kind, entry.row.duration_s) for entry in history[-_PAST:]
        ],
    )


def _changed(row: Row, was: Row, found: JobComparison) -> Iterator[str]:
    if row.kind != was.kind:
        yield f"was {was.kind}" + (f": {shorten_text(was.cause, 200)}" if was.cause else "")
    elif row.cause != was.cause:
        yield f"its cause was: {shorten_text(was.cause or 'none', 200)}"
    yield from map(str, found.changed)
    yield from found.versions
