"""Edits of the lines of a log; ``member`` is whose it is: the server, or any site."""

import re

from mutation_kinds import pick

STAMP = re.compile(r"(?:\x1b\[[\d;]*m)?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")


def places(log, pattern):
    """Return the places of the lines of a log that match."""
    return [place for place, line in enumerate(log) if re.search(pattern, line)]


def drop(pattern, member="server", every=False):
    """Return what takes a line away, or all that match."""

    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        found = places(log, pattern)
        for place in sorted(found if every else [pick(rng, found)], reverse=True):
            del log[place]

    return change


def double(pattern, member="server"):
    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        place = pick(rng, places(log, pattern))
        log.insert(place, log[place])

    return change


def swap(pattern, other, member="server"):
    """Return what swaps a line with the next one of another kind, time stamps in place."""

    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        pairs = [
            (first, then)
            for first in places(log, pattern)
            for then in [min((place for place in places(log, other) if place > first), default=None)]
            if then is not None
        ]
        first, then = pick(rng, pairs)
        a, b = log[first], log[then]
        log[first] = stamp(a) + b[len(stamp(b)) :]
        log[then] = stamp(b) + a[len(stamp(a)) :]

    return change


def stamp(line):
    found = STAMP.match(line)
    return found.group() if found else ""


def replace(pattern, new, member="server", every=False):
    def change(run, rng):
        log = run.log(pick(rng, run.sites) if member == "site" else member)
        found = places(log, pattern)
        for place in found if every else [pick(rng, found)]:
            log[place] = re.sub(pattern, new, log[place])

    return change
