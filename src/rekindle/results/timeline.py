# SPDX-License-Identifier: Apache-2.0
"""When what happened in a run: its GPUs by the driver's samples, its sites by the evidence of both ends."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from rekindle.host import files, folders
from rekindle.records import RecordError, RunEnd, VerdictRecord, parse_time
from rekindle.records.base import (
    Few,
    Integer,
    Seconds,
    Table,
    Text,
    Time,
    allow_decoding,
    decode_json,
    read_valid,
)

SAMPLES, _MOST_XIDS = 80, 50
"""Of one file: samples that are read, evenly, and samples with Xid errors."""
_SMALL, _LONGEST = 1 << 18, 1 << 16
"""Bytes of a file that is read whole, and of a line in one that is not."""
_GPU_ERRORS = "no_gpu_errors"
"""The check that has looked for Xid errors in every sample."""
_MOST_LANES, _MOST_ROUNDS = 64, 5_000
"""GPUs, and as many sites; and rounds of one."""
_XIDS = re.compile(rb'"xids": ?\[ ?[0-9]')
_BEGUN = {"model", "global"}
_READ = {b"round", b"task", b"model", b"global"}
_EVENT = re.compile(rb'^\{ ?"event": ?"([a-z]{1,20})"')

Doing = Literal["trains", "sends", "waits", "works"]
"""``works``: has a task, of which no rank reports more."""


class Sampled(NamedTuple):
    """A GPU at one moment, in seconds from the run's start."""

    at: float
    utilisation: int | None
    used_mib: int


class Xid(NamedTuple):
    """An Xid error of a GPU."""

    at: float
    number: int


class SiteSpan(NamedTuple):
    """What a site did from one second of the run to another."""

    doing: Doing
    since: float
    until: float
    round: int


class Timeline(NamedTuple):
    """A run, in seconds from its start."""

    seconds: float
    gpus: dict[str, list[Sampled]]
    xids: dict[str, list[Xid]]
    sites: dict[str, list[SiteSpan]]
    rounds: list[tuple[float, int]]
    """When the last site had trained in each round, from 0."""
    suspensions: list[tuple[float, float]]


class _Gpu(msgspec.Struct):
    utilisation: Integer | None
    used_mib: Integer
    xids: Few[Integer] | None = None


@allow_decoding
class _Sample(msgspec.Struct):
    """What is drawn of a `SampleEvent`."""

    time: Time
    gpus: Table[_Gpu]
    unanswered: Table[Few[Integer] | None] = {}


@allow_decoding
class _Seen(msgspec.Struct):
    """What is drawn of a `RoundEvent`, a `TaskEvent`, and the first model of the server's."""

    event: Text
    time: Time
    site: Text = ""
    round: Integer | None = None
    rank: Integer = 0
    seconds: Seconds = 0.0


def read_timeline(run_dir: Path, verdict: VerdictRecord) -> Timeline | None:
    """Return what the files of a run show; None if it has no end, or nothing to draw.

    Half an hour on eight GPUs leaves 5 MB of samples: where the verdict says that no GPU had an error, those
    between the ones that are drawn are not read.
    """
    good = {"holds", "not applicable"}
    well = any(result.claim == _GPU_ERRORS and result.state in good for result in verdict.evidence)
    ended = read_valid(run_dir / folders.ENDED, RunEnd)
    if ended is None or not ended.duration_s:
        return None
    start, seconds = parse_time(ended.started).timestamp(), ended.duration_s
    found = Timeline(seconds, {}, {}, {}, [], [])
    found.suspensions.extend(
        (max(0.0, span.since - start), min(seconds, span.until - start)) for span in ended.suspensions
    )
    for path in files.find_files(run_dir, folders.ALL_SAMPLES):
        for line in _pick_samples(path, all_of_them=not well):
            with suppress(RecordError):
                sample = decode_json(line, _Sample)
                _add_sample(found, sample, sample.time - start)
    _add_sites(found, list(_seen(run_dir)), start)
    return found if found.gpus or found.sites else None


def _lines(path: Path) -> list[bytes]:
    with suppress(OSError):
        return files.read_content(path).splitlines()
    return []


def _pick_samples(path: Path, *, all_of_them: bool) -> Iterator[bytes]:
    """Yield lines that lie evenly in a file; with ``all_of_them`` also those between that have Xid errors."""
    with suppress(OSError), files.open_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if all_of_them or size <= _SMALL:
            lines = stream.read(files.LIMIT).splitlines()
            step = -(-len(lines) // SAMPLES) or 1
            marked = islice((n for n, line in enumerate(lines) if _XIDS.search(line)), _MOST_XIDS)
            yield from (lines[n] for n in sorted({*range(0, len(lines), step), *marked}))
            return
        for number in range(SAMPLES):
            stream.seek(size * number // SAMPLES)
            stream.readline(_LONGEST)
            yield stream.readline(_LONGEST)


def _add_sample(found: Timeline, sample: _Sample, at: float) -> None:
    if not 0 <= at <= found.seconds:
        return
    for uuid, gpu in sample.gpus.items():
        if uuid in found.gpus or len(found.gpus) < _MOST_LANES:
            found.gpus.setdefault(uuid, []).append(Sampled(at, gpu.utilisation, gpu.used_mib))
            if gpu.xids:
                found.xids.setdefault(uuid, []).extend(Xid(at, number) for number in gpu.xids)
    for uuid, xids in sample.unanswered.items():
        if xids and uuid in found.gpus:
            found.xids.setdefault(uuid, []).extend(Xid(at, number) for number in xids)


def _seen(run_dir: Path) -> Iterator[_Seen]:
    """Yield the rounds of each site's rank 0, and the results that the server got."""
    for path in files.find_files(run_dir, folders.EVENTS):
        if path.name != Path(folders.SERVER_EVENTS).name and ".rank-0." not in path.name:
            continue
        for line in _lines(path):
            kind = _EVENT.match(line)
            if kind and kind[1] in _READ:
                with suppress(RecordError):
                    yield decode_json(line, _Seen)


def _add_sites(found: Timeline, seen: list[_Seen], start: float) -> None:
    """Add what each site did: by its ranks, or else by the results that the server got of it."""
    got: dict[str, dict[int, float]] = {}
    trained: dict[str, list[_Seen]] = {}
    for of in seen:
        if of.event == "task" and of.round is not None:
            got.setdefault(of.site, {}).setdefault(of.round, of.time - start)
        elif of.event == "round" and of.rank == 0 and of.round is not None:
            trained.setdefault(of.site, []).append(of)
    begun = min((of.time - start for of in seen if of.event in _BEGUN), default=None)
    given = _given(got, begun)
    last: dict[int, float] = {}
    for site in sorted({*trained, *got})[:_MOST_LANES]:
        results = got.get(site, {})
        ranks = sorted(trained.get(site, ()), key=lambda of: of.time)[:_MOST_ROUNDS]
        spans = _trained(ranks, results, start) if ranks else _answered(results, given)
        if spans := [span for span in spans if 0 <= span.since <= span.until <= found.seconds]:
            found.sites[site] = spans
        for span in spans:
            if span.doing in {"trains", "works"}:
                last[span.round] = max(span.until, last.get(span.round, 0.0))
    found.rounds.extend(sorted((at, number) for number, at in last.items()))


def _trained(ranks: list[_Seen], got: dict[int, float], start: float) -> list[SiteSpan]:
    """Return what a site did: it trains, then sends its result, then waits until it trains again."""
    spans: list[SiteSpan] = []
    for of in ranks:
        number, end = of.round or 0, of.time - start
        if spans:
            spans.append(SiteSpan("waits", spans[-1].until, end - of.seconds, number))
        spans.append(SiteSpan("trains", max(0.0, end - of.seconds), end, number))
        spans.append(SiteSpan("sends", end, got.get(number, end), number))
    return [span for span in spans if span.until > span.since]


def _given(got: dict[str, dict[int, float]], begun: float | None) -> dict[int, float]:
    """Return when each round began: as its model was there, or the last result of the round before."""
    ends: dict[int, float] = {}
    for results in got.values():
        for number, at in results.items():
            ends[number] = max(at, ends.get(number, at))
    given = {number + 1: at for number, at in ends.items()}
    if begun is not None and ends:
        given.setdefault(min(ends), begun)
    return given


def _answered(got: dict[int, float], given: dict[int, float]) -> list[SiteSpan]:
    """Return what a site without evidence of its own did: it has a task, then waits for the next round."""
    spans: list[SiteSpan] = []
    for number, at in sorted(got.items())[:_MOST_ROUNDS]:
        if number in given:
            if spans:
                spans.append(SiteSpan("waits", spans[-1].until, given[number], number))
            spans.append(SiteSpan("works", given[number], at, number))
    return [span for span in spans if span.until > span.since]
