"""That every time in a run's files is one of its own: within it, and told by all clocks alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rekindle.host import folders
from rekindle.judge.run import Run
from rekindle.records import RecordError, moment
from rekindle.records.events import ContributionEvent, DeviceEvent, FinalEvent, GlobalEvent, RoundEvent

from .registry import ANY, Doubt, rule

_ROUNDING_S = 1.0
"""The record of a run's start gives whole seconds."""
_SLACK_S = 0.1
"""Clocks of processes on one host, and the time that writing a line takes."""
_ZONES_S = 14 * 3600
"""Furthest from UTC that a time zone is."""
_ENDLESS = "The run has no record of its end."
_STOPPED_S = 5.0
"""SLURM stops and resumes the processes of a run one after the other."""
_NODES_S = 300.0
"""By how much the clock of a SLURM node may be off: munge accepts no more."""
_TAIL_S, _TAIL_SHARE = 5.0, 0.1
"""After its last word, a process needs a moment to end; the driver looks once a second."""


@rule(*ANY)
def all_within_the_run(run: Run) -> Iterator[Doubt]:
    """Every event, sample and log line lies between the run's start and end; no event, in a suspension."""
    if run.ended is None:
        yield Doubt(_ENDLESS)
        return
    if run.started is None:
        yield Doubt("The record of the run's end does not tell when it began.", folders.ENDED)
        return
    begin, end = run.started - _SLACK_S, run.started + run.ended.duration_s + _ROUNDING_S + _SLACK_S
    stopped = [(span.since + _STOPPED_S, span.until - _STOPPED_S) for span in run.ended.suspensions]
    for line in run.lines:
        if any(since < line.event.time < until for since, until in stopped):
            yield Doubt("An event was written while SLURM had the run suspended.", line)
        if not begin <= line.event.time <= end:
            off = line.event.time - (begin if line.event.time < begin else end)
            yield Doubt(f"An event lies {off:+.1f} s outside of the run.", line)
    for name in run.members:
        zone = run.zone(name)
        if abs(zone) > _ZONES_S:
            yield Doubt(f"The log of {name} is {zone / 3600:+.0f} h off, which no time zone is.")
        if name != "server" and zone != run.zone(run.spec.sites[0].name):
            yield Doubt(f"The log of {name} is in another time zone than that of {run.spec.sites[0].name}.")
        for record in run.records(name):
            if not begin <= record.time - zone <= end:
                yield Doubt(f"A line of {name}'s log lies outside of the run.", record.at)


@rule(*ANY)
def ends_with_its_last_word(run: Run) -> Iterator[Doubt]:
    """The run ended soon after its last sample or event."""
    if run.ended is None:
        yield Doubt(_ENDLESS)
    if run.started is None or run.ended is None or not run.lines:
        return
    duration = run.ended.duration_s
    last = max(line.event.time for line in run.lines)
    end = run.started + duration
    idle = end - last - run.ended.suspended_s(last, end)
    if idle > _TAIL_S + _TAIL_SHARE * duration:
        yield Doubt(
            f"The run went on for {idle:.1f} s of {duration:.1f} s after its last word.", folders.ENDED
        )


def _unplaced(run: Run) -> str | None:
    clock = run.spec.clock
    return None if clock and clock.asked else "Nobody asked for the host's clock when the run was placed."


@rule(*ANY, exempt=_unplaced, every_job=True)
def made_under_its_nonce(run: Run) -> Iterator[Doubt]:
    """The run lies between the making of its nonce and its collection, by the controller's clock.

    The host's clock may be wrong, and may have been set in between: the offset counts that allows more.
    """
    before = run.spec.clock
    if before is None or before.asked is None:
        return
    try:
        after = run.clock
    except RecordError as error:
        yield Doubt(error.says, folders.CLOCK)
        return
    placed = moment(before.asked).timestamp()
    slack = _ROUNDING_S + _SLACK_S + (_NODES_S if run.spec.slurm else 0.0)
    clocks = [before, after] if after else [before]
    first = placed + min(clock.offset_s - clock.error_s for clock in clocks) - slack
    if run.started is not None and run.started < first:
        says = f"The run began {first - run.started:.0f} s before its nonce was made: it is an older run."
        yield Doubt(says, folders.ENDED)
    for line in run.lines:
        if line.event.time < first:
            yield Doubt(f"An event is {first - line.event.time:.0f} s older than the run's nonce.", line)
    if after is None or after.asked is None or run.ended is None:
        return
    collected = moment(after.asked).timestamp()
    took = run.ended.duration_s + (run.ended.waited_s or 0.0)
    if took > collected - placed + slack:
        waited = f"{collected - placed:.0f} s after its nonce was made"
        yield Doubt(f"The run took {took:.0f} s by its own record and was collected {waited}.", folders.ENDED)
    last = collected + max(clock.offset_s + clock.error_s for clock in clocks) + slack
    if run.started is not None and run.started + run.ended.duration_s > last:
        late = run.started + run.ended.duration_s - last
        yield Doubt(f"The run ended {late:.0f} s after it was collected.", folders.ENDED)
    for line in run.lines:
        if line.event.time > last:
            yield Doubt(f"An event is {line.event.time - last:.0f} s later than the collection.", line)


@rule(needs=(RoundEvent,))
def told_in_order(run: Run) -> Iterator[Doubt]:
    """Each rank tells its device, then its rounds in turn, and job.py the final model after them all."""
    rounds = run.of(RoundEvent)
    for final in run.of(FinalEvent):
        for line in rounds:
            if line.event.time > final.event.time:
                yield Doubt("A round ended after the final model was looked at.", line)
    for site, rank in run.ranks:
        lines = run.rounds(site, rank)
        for before, after in pairwise(lines):
            if after.line <= before.line or after.event.time <= before.event.time:
                says = f"{after.event.who} tells round {after.event.round} before an earlier one."
                yield Doubt(says, after)
    files = {line.file for line in rounds}
    for device in run.of(DeviceEvent):
        if device.line > 1 and device.file in files:
            yield Doubt(f"{device.event.who} told its device late.", device)


@rule(2, needs=(RoundEvent, GlobalEvent, ContributionEvent))
def server_and_sites_tell_one_time(run: Run) -> Iterator[Doubt]:
    """The server had the global model before any rank trained on it, and results after the sites' rounds."""
    starts = {line.event.round: line for line in run.of(GlobalEvent)}
    results = {(line.event.site, line.event.round): line for line in run.of(ContributionEvent)}
    for line in run.of(RoundEvent):
        event = line.event
        start, result = starts.get(event.round), results.get((event.site, event.round))
        if start and start.event.time > event.time - event.seconds + _SLACK_S:
            yield Doubt(f"{event.site} trained in round {event.round} before the server began it.", line)
        if result and event.rank == 0 and result.event.time < event.time - _SLACK_S:
            yield Doubt(
                f"The server had {event.site}'s result of round {event.round} before its end.", result
            )
        following = starts.get(event.round + 1)
        if following and result and following.event.time < result.event.time - _SLACK_S:
            yield Doubt(f"Round {event.round + 1} began before {event.site}'s result was there.", following)
