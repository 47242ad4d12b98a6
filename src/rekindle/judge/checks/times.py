# SPDX-License-Identifier: Apache-2.0
"""Every time in a run's files lies in the run, in its round, and after its nonce."""

import re
from collections.abc import Iterator

from rekindle.flare.configuration import FLOWS
from rekindle.flare.tasks import CAME
from rekindle.flare.workspace import SERVER
from rekindle.host import folders
from rekindle.judge.check import Options, Result, holds, register_check, register_claim, unknown
from rekindle.judge.clocks import SLACK_S
from rekindle.judge.run import Run
from rekindle.records import RecordError, RunEnd, parse_time
from rekindle.records.events import RoundEvent
from rekindle.records.evidence import EvidenceLine

_ROUNDING_S = 1.0
_VAGUE_S = 600.0
"""Error of a host's clock; what is known no better shows nothing."""
"""The record of a run's start has whole seconds."""
_ZONES_S = 14 * 3600
"""Furthest from UTC that a time zone is."""
_STOPPED_S = 5.0
"""A batch system stops and resumes the processes of a run one after the other."""
_NODES_S = 300.0
"""Largest offset of a cluster node's clock: munge accepts no more."""
_DIGITS_S = 0.01
"""Logs and evidence give milliseconds."""
_BEGUN = re.compile(r"Round (\d{1,9}) started\.")
_Round = EvidenceLine[RoundEvent]


@register_claim(holds="The run had the time for the work that it claims.", needs=(RunEnd, RoundEvent))
def duration_plausible(run: Run, options: Options) -> Result:
    """A rank's rounds follow each other within the run, each between the server's start of it and the site's
    result.
    """
    assert run.ended is not None
    duration = run.ended.duration_s
    starts, results = _server_clock(run)
    for line in run.find(RoundEvent):
        event = line.event
        off = event.time - results.get((event.round, event.site), event.time)
        if abs(off) > duration:
            message = f"The clock of {event.who} is {off:+.0f} s off the server's in round {event.round}."
            return unknown(message, line)
    if misfit := next(_misfits(run, duration, starts, results), None):
        return misfit
    site = run.spec.sites[-1].name
    trained = sum(
        max(0.0, line.event.seconds - run.ranks.measure_suspension(line.event))
        for line in run.ranks.rounds(site, 0)
    )
    return holds(f"{trained:.1f} s of training at {site} in a run of {duration:.1f} s.", folders.ENDED)


def _server_clock(run: Run) -> tuple[dict[int, float], dict[tuple[int, str], float]]:
    """Return when the server started each round and had each result, seconds since the epoch."""
    starts: dict[int, float] = {}
    results: dict[tuple[int, str], float] = {}
    number, zone = -1, run.clocks.ahead_s(SERVER)
    for record in run.logs.records(SERVER) if run.started is not None else ():
        if record.logger not in {*FLOWS, "ServerRunner"}:
            continue
        if begun := next(filter(None, map(_BEGUN.search, (record.message, *record.more))), None):
            number = int(begun[1])
            starts.setdefault(number, record.time - zone)
        elif came := CAME.search(record.message):
            results[number, came[1]] = record.time - zone
    return starts, results


def _misfits(
    run: Run, duration: float, starts: dict[int, float], results: dict[tuple[int, str], float]
) -> Iterator[Result]:
    for site, rank in run.ranks.all:
        lines, who = run.ranks.rounds(site, rank), f"{site} rank {rank}"
        if not lines:
            yield unknown(f"{who} reported no round.")
            continue
        free = first = _start(lines[0])
        for line in lines:
            number, seconds = line.event.round, line.event.seconds
            if seconds <= 0 or _start(line) < free - _DIGITS_S:
                yield unknown(f"{who} had no time for the {seconds} s of round {number}.", line)
            free = line.event.time
            if number not in starts or (number, site) not in results:
                yield unknown(f"The server's log does not show {site}'s round {number} from start to result.")
                continue
            start, end = starts[number], results[number, site]
            slack = _DIGITS_S + run.clocks.slack_s
            late = rank == 0 and line.event.time > end + slack
            if _start(line) < start - slack or late or seconds > end - start + run.clocks.slack_s:
                yield unknown(
                    f"{who}'s round {number} is not within the server's, from start to result.", line
                )
        if free - first > duration:
            yield unknown(f"{who} claims {free - first:.1f} s in a run of {duration:.1f} s.", lines[-1])


def _start(line: _Round) -> float:
    return line.event.time - line.event.seconds


@register_check(
    "federated",
    holds="Every event, sample and log line lies between the run's start and end; no event, in a suspension.",
    needs=(RunEnd,),
)
def all_within_the_run(run: Run) -> Iterator[Result]:
    assert run.ended is not None
    if run.started is None:
        yield unknown("The record of the run's end does not have its start.", folders.ENDED)
        return
    slack = SLACK_S + run.clocks.slack_s
    begin, end = run.started - slack, run.started + run.ended.duration_s + _ROUNDING_S + slack
    for line in run.lines:
        if any(
            span.since + _STOPPED_S < line.event.time < span.until - _STOPPED_S
            and span.has_stopped(run.spec.host_of(line.file))
            for span in run.ended.suspensions
        ):
            yield unknown("An event was written while the run was suspended.", line)
        if not begin <= line.event.time <= end:
            off = line.event.time - (begin if line.event.time < begin else end)
            yield unknown(f"An event lies {off:+.1f} s outside of the run.", line)
    begun = _server_clock(run)[0]
    for result in run.training.results if begun else ():
        number, came = result.event.round, result.event.time + slack
        if number is not None and begun.get(number, came + 1) > came:
            message = f"{result.event.site} gave a result of round {number} before the server began it."
            yield unknown(message, result)
    for name in run.members:
        zone = run.clocks.ahead_s(name)
        if abs(zone) > _ZONES_S:
            yield unknown(f"The log of {name} is {zone / 3600:+.0f} h off, which is no time zone.")
        if name != SERVER and not run.spec.over_hosts and zone != run.clocks.ahead_s(run.members[1]):
            yield unknown(f"The log of {name} is in another time zone than {run.members[1]}'s.")
        for record in run.logs.records(name):
            if not begin <= record.time - zone <= end:
                yield unknown(f"A line of {name}'s log lies outside of the run.", record.at)


def _unplaced(run: Run) -> str | None:
    return None if run.spec.clock else "Nobody asked for the host's clock when the run was placed."


@register_check(
    "federated",
    "acceptance",
    holds="The run lies between the making of its nonce and its collection, by the controller's clock.",
    unless=_unplaced,
)
def made_under_its_nonce(run: Run) -> Iterator[Result]:
    """The host's clock may be wrong, and may have been set in between: the offset counts that allows more."""
    before = run.spec.clock
    if before is None:
        return
    try:
        after = run.clocks.collected
    except RecordError as error:
        yield unknown(error.message, folders.CLOCK)
        return
    placed = parse_time(before.asked).timestamp()
    slack = _ROUNDING_S + SLACK_S + (_NODES_S if run.spec.allocation else 0.0)
    clocks = [before, after] if after else [before]
    if (off := max(clock.error_s for clock in clocks)) > _VAGUE_S:
        yield unknown(f"The host's clock may be off by {off:.0f} s: that places the run nowhere.")
        return
    first = placed + min(clock.offset_s - clock.error_s for clock in clocks) - slack
    if run.started is not None and run.started < first:
        message = f"The run began {first - run.started:.0f} s before its nonce was made: it is an older run."
        yield unknown(message, folders.ENDED)
    for line in run.lines:
        if line.event.time < first:
            yield unknown(f"An event is {first - line.event.time:.0f} s older than the run's nonce.", line)
    if after is None or run.ended is None:
        return
    collected = parse_time(after.asked).timestamp()
    if collected < placed - slack:
        yield unknown("The run was collected before its nonce was made.", folders.CLOCK)
        return
    took = run.ended.duration_s + (run.ended.waited_s or 0.0)
    if took > collected - placed + slack:
        message = (
            f"The run took {took:.0f} s by its own record and was collected "
            f"{collected - placed:.0f} s after its nonce was made."
        )
        yield unknown(message, folders.ENDED)
    last = collected + max(clock.offset_s + clock.error_s for clock in clocks) + slack
    if run.started is not None and run.started + run.ended.duration_s > last:
        late = run.started + run.ended.duration_s - last
        yield unknown(f"The run ended {late:.0f} s after it was collected.", folders.ENDED)
    for line in run.lines:
        if line.event.time > last:
            yield unknown(f"An event is {line.event.time - last:.0f} s later than the collection.", line)
