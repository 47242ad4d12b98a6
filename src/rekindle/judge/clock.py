"""The claim on time: rounds have to fit between what NVFlare's server logged, and each other."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from rekindle.records import Evidence
from rekindle.records.events import RoundEvent
from rekindle.records.evidence import Line

from .run import Run
from .validators import validator

_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")
_STARTED = re.compile(r"Round (\d{1,9}) started")
_RESULT = re.compile(r"got result from client (\S+) for task")
_ZONE_S = 900
"""Time zones differ by multiples of a quarter of an hour."""
_SLACK_S = 0.01
"""Logs and evidence give milliseconds."""
_Doubt = tuple[str, "Line[RoundEvent] | None"]
_Times = dict[tuple[int, str], float]
"""When the server had a site's result of a round."""
_FASTER = 10
"""How many times as fast as all others a round may be; in a recorded run warm ones differ by 1.14 at most."""


@validator
def duration_plausible(run: Run, claim: str, options: dict[str, Any]) -> Evidence:
    """The run had the time for the work that it claims; one that had not proves nothing.

    A rank's rounds follow each other within the run. Each lies between the server's start of it and the
    site's result, and its samples took no less than a tenth of the time that other rounds took for as many.
    """
    if run.ended is None:
        return run.evidence(claim, None, "The run has no record of its end.")
    begun, came = _server_clock(run)
    doubt = _set(run, came) or _misfit(run, begun, came) or _rushed(run)
    if doubt:
        return run.evidence(claim, None, *doubt)
    site = run.spec.sites[-1].name
    trained = sum(one.event.seconds for one in run.rounds(site, 0))
    says = f"{trained:.1f} s of training at {site} in a run of {run.ended.duration_s:.1f} s."
    return run.evidence(claim, True, says, "ended.json")


def _set(run: Run, came: _Times) -> _Doubt | None:
    """Return a round whose end is further from the server's than the run was long, as no delay is."""
    for one in run.of(RoundEvent):
        off = one.event.time - came.get((one.event.round, one.event.site), one.event.time)
        if run.ended and abs(off) > run.ended.duration_s:
            who = f"{one.event.site} rank {one.event.rank}"
            return f"The clock of {who} is {off:+.0f} s off the server's in round {one.event.round}.", one
    return None


def _misfit(run: Run, begun: dict[int, float], came: _Times) -> _Doubt | None:
    """Return what of a rank's rounds does not fit into the run or into the server's rounds."""
    for site, rank in ((one.name, rank) for one in run.spec.sites for rank in range(one.ranks)):
        lines, who = run.rounds(site, rank), f"{site} rank {rank}"
        if not lines:
            return f"{who} reported no round.", None
        free = first = _start(lines[0])
        for one in lines:
            number, seconds = one.event.round, one.event.seconds
            if seconds <= 0 or _start(one) < free - _SLACK_S:
                return f"{who} had no time for the {seconds} s of round {number}.", one
            free = one.event.time
            if number not in begun or (number, site) not in came:
                return f"The server's log does not show {site}'s round {number} from start to result.", None
            start, end = begun[number], came[number, site]
            late = rank == 0 and one.event.time > end + _SLACK_S
            if _start(one) < start - _SLACK_S or late or seconds > end - start:
                return f"{who}'s round {number} is not within the server's, from start to result.", one
        if run.ended and free - first > run.ended.duration_s:
            return f"{who} claims {free - first:.1f} s in a run of {run.ended.duration_s:.1f} s.", lines[-1]
    return None


def _start(line: Line[RoundEvent]) -> float:
    return line.event.time - line.event.seconds


def _rushed(run: Run) -> _Doubt | None:
    """Return a round that claims more samples a second than other rounds allow; the first one warms up."""
    lines = run.of(RoundEvent)
    fastest: dict[int, float] = {}
    for event in (one.event for one in lines):
        if event.round and event.seconds > 0:
            fastest[event.round] = max(event.samples / event.seconds, fastest.get(event.round, 0.0))
    best = sorted(fastest.items(), key=lambda pair: -pair[1])[:2]
    for one in lines:
        event = one.event
        pace = _FASTER * next((pace for number, pace in best if number != event.round), 0.0)
        least = event.samples / pace if pace else 0.0
        if least > max(event.seconds, _SLACK_S):
            says = (
                f"{event.site} rank {event.rank} claims {event.samples} samples in "
                f"{event.seconds} s of round {event.round}; at {_FASTER} times the pace of other "
                f"rounds they take {least:.3g} s."
            )
            return says, one
    return _ahead(lines)


def _ahead(lines: list[Line[RoundEvent]]) -> _Doubt | None:
    """Return a rank that took for a round's samples a tenth of the time that every other took for as many."""
    rounds: dict[int, list[tuple[float, Line[RoundEvent]]]] = {}
    for one in lines:
        each = max(one.event.seconds, _SLACK_S) / max(one.event.samples, 1)
        rounds.setdefault(one.event.round, []).append((each, one))
    for ones in rounds.values():
        (fast, first), *rest = sorted(ones, key=lambda pair: pair[0])
        if rest and fast * _FASTER < rest[0][0]:
            who = f"{first.event.site} rank {first.event.rank}"
            return f"{who} was {_FASTER} times as fast as all others in round {first.event.round}.", first
    return None


def _server_clock(run: Run) -> tuple[dict[int, float], _Times]:
    """Return when the server started each round and when it had each site's result, seconds since the epoch.

    Its log is in local time. The run's own start tells the zone: the log begins within minutes of it.
    """
    begun: dict[int, float] = {}
    came: _Times = {}
    stamp, number, zone = "", None, None
    start = _seconds(run.ended.started) if run.ended else None
    for line in (run.server.log if run.server else None) or ():
        match = _STAMP.match(line)
        stamp = match.group() if match else stamp
        started, result = _STARTED.search(line), _RESULT.search(line)
        now = _seconds(stamp) if started or result or zone is None else None
        if zone is None and now is not None and start is not None:
            zone = round((now - start) / _ZONE_S) * _ZONE_S
        if now is None or zone is None:
            continue
        if started:
            number = int(started.group(1))
            begun[number] = now - zone
        elif result and number is not None:
            came[number, result.group(1)] = now - zone
    return begun, came


def _seconds(stamp: str) -> float | None:
    """Return the time stamp of a log or a record in seconds since its zone's epoch; None if it is none."""
    for form in ("%Y-%m-%d %H:%M:%S,%f", "%Y-%m-%dT%H:%M:%SZ"):
        try:
            return datetime.strptime(stamp, form).replace(tzinfo=timezone.utc).timestamp()
        except ValueError:
            continue
    return None
