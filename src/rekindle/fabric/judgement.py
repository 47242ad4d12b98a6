# SPDX-License-Identifier: Apache-2.0
"""The hosts and links of a fabric that something is wrong with, by what was measured; a sentence for each."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rekindle.acceptance.evaluation import format_figure, format_size
from rekindle.records import Norms
from rekindle.records.action import Action
from rekindle.records.complaint import quote_host
from rekindle.records.fabric import FabricLook, FabricRecord
from rekindle.records.text import fold_line, list_few

from .groups import find_bad_groups, find_floor, find_rate, list_whole, pick_whole
from .pairs import (
    KINDS,
    FabricFlaw,
    Kind,
    Looks,
    Reading,
    Troubles,
    find_blamed,
    find_low,
    find_troubles,
    group_pairs,
)
from .ports import find_port_flaws
from .schedule import Pair, order_pair

_LOOKS = 6
"""At a pair of many hosts, if each is bad: of 32,640 pairs, one in a hundred may be slow for a moment."""
_HUNG_ENOUGH = 2
"""Hosts with which one has to have hung before it is left out."""


_GRAVITY = ("silent", "stuck", "wrong", "port", "drops", "slow", "low", "late", "together")
_AT_ONCE: tuple[Kind, ...] = ("stuck", "wrong")
"""Two pairs show it of a host, without a second look at either."""


_FILTERED = (
    "See that nothing between these hosts filters ports, and that each is known by an address of the network "
    "that joins them."
)


class _Advice(NamedTuple):
    host: str
    """What to do about a host."""
    link: str
    """And about a link."""
    action: Action
    every: str = _FILTERED
    """What to do where every pair shows it."""


_JOINS = "Look at what joins them: switches, uplinks and their settings."
_NORMS = "Look at its cable and the rate of its port, and see that the norms are of such a network."
_CABLES = "Look at the cables, the switch ports and the cards of both ends, and measure again."
_ADVICE: dict[Kind, _Advice] = {
    "stuck": _Advice(
        "See its processes and its system log; leave it out of jobs over several hosts until then.",
        "See that nothing between the two filters ports, and look at the cables and switch ports.",
        "DRAIN",
    ),
    "wrong": _Advice(
        "Run no job there: its results cannot be trusted. Have it replaced.",
        "Run no job over both, and measure each with another host.",
        "REPLACE",
    ),
    "drops": _Advice(
        "Look at its cable, its switch port and its card's error counters (ethtool -S).", _CABLES, "RETEST"
    ),
    "slow": _Advice(
        "Look at its cable, the rate of its port and what else uses its network; then measure again.",
        _CABLES,
        "RETEST",
    ),
    "low": _Advice(
        _NORMS,
        _CABLES,
        "RETEST",
        _NORMS,
    ),
    "late": _Advice("See which way its packets take, and what else uses its network.", _CABLES, "RETEST"),
}


def count_repetitions(hosts: int) -> int:
    """Return log₂ of the number of hosts, rounded up: how often something is measured again at most."""
    return max(1, (hosts - 1).bit_length())


def count_looks(hosts: int) -> int:
    """Return how often a pair is looked at that is bad each time.

    One less names it: of many suspects, some do not find both their hosts free in the first repetition.
    """
    return min(1 + count_repetitions(hosts), _LOOKS)


def find_hung(looks: Sequence[FabricLook]) -> set[str]:
    """Return the hosts that only hung, with two others: they are measured no more."""
    partners: dict[str, set[str]] = {}
    for look in looks:
        if look.outcome == "hung" and look.is_pair:
            for host in look.hosts:
                partners.setdefault(host, set()).update(look.hosts)
    hung = {host for host, met in partners.items() if len(met) > _HUNG_ENOUGH}
    for look in looks if hung else ():
        hung -= set(look.hosts) if look.outcome == "measured" else set()
    return hung


def find_suspects(looks: Iterable[FabricLook], lost: set[str], norms: Norms | None = None) -> list[Pair]:
    """Return the pairs to measure again, those with the fewest looks first.

    A wrong result needs no second look.
    """
    pairs = group_pairs(looks)
    by_kind = find_troubles(pairs, norms).by_kind
    bad = {pair for kind in KINDS if kind != "wrong" for pair in by_kind[kind]}
    again = (pair for pair in bad if len(pairs[pair]) < _LOOKS and not lost & set(pair))
    return sorted(again, key=lambda pair: (len(pairs[pair]), pair))


def judge_fabric(record: FabricRecord) -> tuple[FabricFlaw, ...]:
    """Return what is wrong with a fabric, the gravest first."""
    flaws = [
        FabricFlaw(
            hosts=(host,),
            kind="silent",
            message=quote_host(fold_line(f"{host} {why}.")),
            remedy="See whether it is up and reaches the first host (rekindle_fabric_address); leave it out "
            "until it answers.",
            action="DRAIN",
        )
        for host, why in record.silent.items()
    ]
    pairs = {
        pair: looks
        for pair, looks in group_pairs(record.looks).items()
        if not record.silent.keys() & set(pair)
    }
    troubles = find_troubles(pairs, record.norms)
    for kind in KINDS:
        if not troubles.by_kind[kind]:
            continue
        named = {flaw.hosts for flaw in flaws}
        pairs = {
            pair: looks
            for pair, looks in pairs.items()
            if pair not in named and not any((host,) in named for host in pair)
        }
        bad = {pair: reading for pair, reading in troubles.by_kind[kind].items() if pair in pairs}
        flaws += _of_kind(kind, bad, pairs, troubles, len(record.hosts))
    flaws += _together(record, flaws, troubles)
    return tuple(sorted([*flaws, *find_port_flaws(record)], key=lambda flaw: _GRAVITY.index(flaw.kind)))


def _of_kind(
    kind: Kind, bad: dict[Pair, Reading], pairs: Looks, troubles: Troubles, hosts: int
) -> Iterator[FabricFlaw]:
    if bad and len(bad) == len(pairs) > 1:
        low = f"a pair {_says(kind, [*bad.values()])}." if kind == "low" else _quote(pairs[next(iter(bad))])
        yield FabricFlaw(
            hosts=tuple(sorted({host for pair in bad for host in pair})),
            kind=kind,
            message=f"No pair of {len(bad)} {_without(kind)}: {low}",
            remedy=_ADVICE[kind].every,
            action="RETEST",
        )
        return
    blamed, links = find_blamed(bad, pairs, 0 if kind in _AT_ONCE else 2)
    others = sum(not blamed.keys() & set(pair) for pair in pairs)
    if kind == "slow" and troubles.many and (2 * len(links) >= max(others, 1) or 2 * len(blamed) >= hosts):
        yield _note(
            kind,
            bad,
            f"{len(bad)} of {len(pairs)} pairs are slower than the others, so that it may "
            "be how their network is built.",
        )
        return
    for host, own in blamed.items():
        message = f"{host} {_says(kind, [bad[pair] for pair in own])} with {_partners(host, own, pairs)}"
        message += f": {_quote(pairs[own[0]])}" if kind == "stuck" else "."
        advice = _ADVICE[kind]
        yield FabricFlaw(hosts=(host,), kind=kind, message=message, remedy=advice.host, action=advice.action)
    once = [pair for pair in links if len(pairs[pair]) < max(2, count_looks(hosts) - 1) and kind != "wrong"]
    for pair in links:
        if pair not in once:
            message = f"The link between {pair[0]} and {pair[1]} {_says(kind, [bad[pair]])}"
            message += f", in each of {len(pairs[pair])} looks" if kind != "wrong" else ""
            message += f": {_quote(pairs[pair])}" if kind == "stuck" else "."
            advice = _ADVICE[kind]
            yield FabricFlaw(hosts=pair, kind=kind, message=message, remedy=advice.link, action=advice.action)
    if once:
        says = _says(kind, [bad[pair] for pair in once])
        yield _note(kind, once, f"A pair of {len(once)} {says}, and was not looked at as often as names it.")


def _note(kind: Kind, pairs: Iterable[Pair], message: str) -> FabricFlaw:
    hosts = tuple(sorted({host for pair in pairs for host in pair}))
    return FabricFlaw(
        hosts=hosts, kind=kind, verdict=None, message=message, remedy="See the matrix.", action="NONE"
    )


def _partners(host: str, own: Sequence[Pair], pairs: Looks) -> str:
    others = [one if other == host else other for one, other in own]
    return f"{list_few(others, 4)} ({len(own)} of {sum(host in pair for pair in pairs)} hosts)"


def _says(kind: Kind, readings: Sequence[Reading]) -> str:
    worst = max(readings, key=lambda reading: reading.worse)
    value, middle = format_figure(worst.value), format_figure(worst.median)
    at = f"{value} GB/s at {format_size(worst.size)}"
    if kind == "slow":
        return f"has {at}, {worst.worse:.0%} less than the median {middle} of all pairs"
    if kind == "low":
        return f"has {at}, where the norm is at least {middle} ({worst.source})"
    if kind == "late":
        return f"takes {value} µs for 8 bytes, where the median of all pairs is {middle} µs"
    if kind == "drops":
        again = f"TCP sends {worst.value:.2%} of its segments again"
        return f"loses packets: {again}, where the median is {worst.median:.2%}"
    if kind == "wrong":
        return f"gives wrong results, up to {worst.value:,.0f} values of one,"
    return "gives no result"


def _without(kind: Kind) -> str:
    return {"stuck": "gave a result", "wrong": "gave a right result", "low": "reaches its norm"}.get(
        kind, "is as it should be"
    )


def _quote(looks: Sequence[FabricLook]) -> str:
    """Return what the hosts say of the last look, as theirs."""
    last = looks[-1]
    said = fold_line(quote_host(last.message))[:300].rstrip(".")
    return f"{said or ('it hung' if last.outcome == 'hung' else 'nothing is said of it')}."


def _together(record: FabricRecord, flaws: Sequence[FabricFlaw], troubles: Troubles) -> Iterator[FabricFlaw]:
    """Yield what only many hosts together show, which bisection made as small as it could."""
    whole = pick_whole(record.looks)
    if whole is None:
        return
    explained = any(flaw.kind in ("slow", "drops", "low") for flaw in flaws)
    if not find_bad_groups([whole], 0.0 if explained else find_floor(record.looks)):
        yield from () if explained else _low_together(record, whole.hosts)
        return
    after = record.looks[record.looks.index(whole) + 1 :]
    bad = [look for look in after if look.outcome != "measured" or look.wrong] or [whole]
    least = min(bad, key=lambda look: len(look.hosts))
    if least.is_pair and (least.wrong or order_pair(*least.hosts) in troubles.by_kind["stuck"]):
        return  # the pair is named already
    only_slow = least.outcome == "measured" and not least.wrong
    how = "hang" if least.outcome == "hung" else "fail" if least.outcome == "failed" else "compute wrongly"
    if only_slow:
        how = f"have {format_figure(find_rate(least) or 0)} GB/s, less than half of the median pair's"
    said = f": {_quote([least])}" if least.outcome != "measured" else "."
    yield FabricFlaw(
        hosts=least.hosts,
        kind="together",
        verdict=None if only_slow else "FAIL",
        message=f"{list_few(least.hosts, 4)} together {how}, and each pair alone does not{said}",
        remedy=_JOINS,
        action="NONE" if only_slow else "RETEST",
    )


def _low_together(record: FabricRecord, hosts: tuple[str, ...]) -> Iterator[FabricFlaw]:
    """Yield that all hosts together are below their norm, though each pair reaches its own."""
    looks = list_whole(record.looks)
    if low := find_low({hosts: looks}, record.norms):
        says = f"{list_few(hosts, 4)} together {_says('low', [*low.values()])}"
        several = len(looks) > 1
        yield FabricFlaw(
            hosts=hosts,
            kind="low",
            verdict="FAIL" if several else None,
            message=f"{says}, in each of {len(looks)} looks." if several else f"{says}, in one look.",
            remedy=_JOINS,
            action="RETEST" if several else "NONE",
        )
