"""The claim on time: rounds have to fit between what NVFlare's server logged, and each other."""

from __future__ import annotations

from typing import Any

from rekindle.host import folders
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records.events import RoundEvent
from rekindle.records.evidence import Line

from .registry import validator

_SLACK_S = 0.01
"""Logs and evidence give milliseconds."""
_DELAY_S = 0.1
"""How much longer a round may take than it works: the kernel's period, in which it may wait for its share."""
_FASTER = 10
"""How many times as fast as all others a round may be; in a recorded run warm ones differ by 1.14 at most."""
_Round = Line[RoundEvent]
_Misfit = tuple[str, "_Round | None"]
_Starts = dict[int, float]
"""When the server started a round, seconds since the epoch."""
_Results = dict[tuple[int, str], float]
"""When the server had a site's result of a round, seconds since the epoch."""


@validator("spec", "workspace", "evidence", "end")
def duration_plausible(run: Run, options: dict[str, Any]) -> Answer:
    """The run had the time for the work that it claims; one that had not proves nothing.

    A rank's rounds follow each other within the run. Each lies between the server's start of it and the
    site's result, and its samples took no less than a tenth of the time that other rounds took for as many.
    """
    if run.ended is None:
        return Answer(None, "The run has no record of its end.")
    starts, results = _server_clock(run)
    misfit = _far_off(run, results) or _outside(run, starts, results) or _rushed(run)
    if misfit:
        return Answer(None, *misfit)
    site = run.spec.sites[-1].name
    trained = sum(_worked_s(run, line) for line in run.rounds(site, 0))
    says = f"{trained:.1f} s of training at {site} in a run of {run.ended.duration_s:.1f} s."
    return Answer(True, says, folders.ENDED)


def _server_clock(run: Run) -> tuple[_Starts, _Results]:
    """Return when the server started each round and had each result; nothing if its zone is not known."""
    starts: _Starts = {}
    results: _Results = {}
    if run.started is None:
        return starts, results
    zone, number = run.zone("server"), None
    for entry in run.ledger:
        time = entry.record.time - zone
        if entry.kind == "round":
            number = entry.number
            starts[number] = time
        elif entry.kind == "result" and number is not None:
            results[number, entry.site] = time
    return starts, results


def _far_off(run: Run, results: _Results) -> _Misfit | None:
    """Return a round whose end is further from the server's than the run was long, as no delay is."""
    for line in run.of(RoundEvent):
        event = line.event
        off = event.time - results.get((event.round, event.site), event.time)
        if run.ended and abs(off) > run.ended.duration_s:
            return f"The clock of {event.who} is {off:+.0f} s off the server's in round {event.round}.", line
    return None


def _outside(run: Run, starts: _Starts, results: _Results) -> _Misfit | None:
    """Return what of a rank's rounds does not fit into the run or into the server's rounds."""
    for site, rank in run.ranks:
        lines, who = run.rounds(site, rank), f"{site} rank {rank}"
        if not lines:
            return f"{who} reported no round.", None
        free = first = _start(lines[0])
        for line in lines:
            number, seconds = line.event.round, line.event.seconds
            if seconds <= 0 or _start(line) < free - _SLACK_S:
                return f"{who} had no time for the {seconds} s of round {number}.", line
            free = line.event.time
            if number not in starts or (number, site) not in results:
                return f"The server's log does not show {site}'s round {number} from start to result.", None
            start, end = starts[number], results[number, site]
            late = rank == 0 and line.event.time > end + _SLACK_S
            if _start(line) < start - _SLACK_S or late or seconds > end - start:
                return f"{who}'s round {number} is not within the server's, from start to result.", line
        if run.ended and free - first > run.ended.duration_s:
            return f"{who} claims {free - first:.1f} s in a run of {run.ended.duration_s:.1f} s.", lines[-1]
    return None


def _start(line: _Round) -> float:
    return line.event.time - line.event.seconds


def _worked_s(run: Run, line: _Round) -> float:
    """Return the seconds of a round in which the run was not suspended."""
    return max(0.0, line.event.seconds - run.suspended_s(line.event))


def _rushed(run: Run) -> _Misfit | None:
    """Return a round that claims more samples a second than other rounds allow; the first one warms up."""
    lines = run.of(RoundEvent)
    fastest: dict[int, float] = {}
    for line in lines:
        event, seconds = line.event, _worked_s(run, line)
        if event.round and seconds > _DELAY_S:
            pace = event.samples / (seconds - _DELAY_S)
            fastest[event.round] = max(pace, fastest.get(event.round, 0.0))
    best = sorted(fastest.items(), key=lambda pair: -pair[1])[:2]
    for line in lines:
        event, seconds = line.event, _worked_s(run, line)
        pace = _FASTER * next((pace for number, pace in best if number != event.round), 0.0)
        least = event.samples / pace if pace else 0.0
        if least > seconds:
            claimed = f"{event.samples} samples in {round(seconds, 3)} s of round {event.round}"
            allowed = f"at {_FASTER} times the pace of other rounds they take {least:.3g} s"
            return f"{event.who} claims {claimed}; {allowed}.", line
    return _ahead(run, lines)


def _ahead(run: Run, lines: list[_Round]) -> _Misfit | None:
    """Return a rank that took for a round's samples a tenth of the time that every other took for as many."""
    paces: dict[int, list[tuple[float, _Round]]] = {}
    for line in lines:
        seconds_each = _worked_s(run, line) / max(line.event.samples, 1)
        paces.setdefault(line.event.round, []).append((seconds_each, line))
    for number, by_rank in paces.items():
        (fast, first), *rest = sorted(by_rank, key=lambda pair: pair[0])
        undelayed = (seconds_each - _DELAY_S / max(line.event.samples, 1) for seconds_each, line in rest)
        if fast * _FASTER < min(undelayed, default=0.0):
            return f"{first.event.who} was {_FASTER} times as fast as all others in round {number}.", first
    return None
