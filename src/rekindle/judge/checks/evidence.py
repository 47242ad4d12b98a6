"""That all evidence is read, is of this run, and has no exception."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.host import folders
from rekindle.judge.check import Result, check, fails, unknown
from rekindle.judge.run import Run
from rekindle.records.events import (
    ContributionEvent,
    Event,
    ExceptionEvent,
    FinalEvent,
    GlobalEvent,
    ModelEvent,
    RankEvent,
    SampleEvent,
    TaskEvent,
    TrackingEvent,
)

_JOB = (FinalEvent, TrackingEvent, ExceptionEvent, ModelEvent)
_SERVER = (GlobalEvent, ContributionEvent, TaskEvent, ExceptionEvent, ModelEvent)


@check("ours", "example")
def nobody_raised(run: Run) -> Iterator[Result]:
    """No trainer recorded an exception."""
    for line in run.of(ExceptionEvent):
        event = line.event
        yield fails(f"{event.who} raised {event.kind}: {event.message[:300]}", line)


@check("ours", "example")
def everything_is_read(run: Run) -> Iterator[Result]:
    """Every file is a regular one of bounded size, and every line of evidence an event."""
    for says in run.unread:
        yield unknown(says)
    for file, number in run.broken:
        yield unknown(f"Line {number} of {file} is not an event.", file)


@check("ours", "example")
def all_of_this_run(run: Run) -> Iterator[Result]:
    """Every line of evidence, and the record of the run's end, repeat the nonce of its spec."""
    nonce = run.spec.nonce
    if not nonce:
        yield unknown("The run's spec has no nonce, so nothing ties the evidence to it.", folders.SPEC)
    for line in run.lines:
        if line.event.nonce != nonce:
            yield unknown("A line of evidence has another nonce than the run's spec.", line)
    if run.ended and run.ended.nonce != nonce:
        yield unknown("The record of the run's end has another nonce than its spec.", folders.ENDED)


@check("ours", "example")
def everyone_writes_their_own(run: Run) -> Iterator[Result]:
    """Every line of evidence is of the site and rank whose file it stands in."""
    ranks = {f"{folders.EVIDENCE}/{site}.rank-{rank}.jsonl": (site, rank) for site, rank in run.ranks}
    writers: dict[str, tuple[type[Event], ...]] = {
        f"{folders.EVIDENCE}/job.jsonl": _JOB,
        folders.SERVER_EVENTS: _SERVER,
        folders.server_events(run.workspace.job): _SERVER,
        **{folders.samples(node): (SampleEvent,) for node in run.nodes},
    }
    for line in run.lines:
        event, rank = line.event, ranks.get(line.file)
        if rank:
            own = isinstance(event, RankEvent) and (event.site, event.rank) == rank
        else:
            own = isinstance(event, writers.get(line.file, ()))
        if not own:
            yield unknown(f"{line.file} has a line that its writer does not write.", line)
