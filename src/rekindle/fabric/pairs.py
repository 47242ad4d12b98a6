# SPDX-License-Identifier: Apache-2.0
"""What is wrong with pairs of hosts, and which hosts or links explain it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from statistics import median
from typing import Literal, NamedTuple, TypeVar

import msgspec

from rekindle.acceptance import catalogue
from rekindle.acceptance.comparison import find_outliers
from rekindle.records import Kind as HostKind
from rekindle.records import Measurement, Norms
from rekindle.records.action import Action
from rekindle.records.fabric import FABRIC, FabricLook

from .schedule import Pair, order_pair

Kind = Literal["stuck", "wrong", "drops", "slow", "low", "late"]
"""From the gravest: it gave no result; a result is wrong; TCP sends again; bandwidth; its norm; latency."""
KINDS: tuple[Kind, ...] = ("stuck", "wrong", "drops", "slow", "low", "late")

SPEED = catalogue.load_measures()["fabric_all_reduce"]
"""Half of the 15 % that have to be found: benchmarks/fabric.py has what it finds and what it does not."""
_NOISE = 3.0
"""Standard deviations: each of several looks has to be so far off."""
_LATE = 5.0
"""Times the median of all pairs."""
_RESENT, _RESENT_TIMES = 0.001, 5.0
"""Share of segments that TCP sends again, and times the median of all pairs: both are passed."""
_COMPARED = 3
"""Pairs without which there is no median."""


class FabricFlaw(msgspec.Struct, kw_only=True, frozen=True):
    """What is wrong with one host, the link of two, or what joins more."""

    hosts: tuple[str, ...]
    kind: Literal[Kind, "silent", "port", "together"]
    verdict: Literal["FAIL"] | None = "FAIL"
    """None: it is noted, and changes nothing."""
    message: str
    remedy: str
    action: Action


Looks = Mapping[Pair, list[FabricLook]]
Group = TypeVar("Group", bound=tuple[str, ...])
"""Hosts that were measured together: a pair, or all."""


class Reading(NamedTuple):
    """The figure that is worse than that of other pairs, by its best look."""

    value: float
    median: float
    size: int = 0
    """Bytes; 0 where it is of no size."""
    source: str = ""
    """Of the norm that it is below."""

    @property
    def worse(self) -> float:
        """How much worse, relative to the median; of what should be low, times the median."""
        return abs(self.value - self.median) / self.median if self.median else 0.0


class Troubles(NamedTuple):
    """What is wrong with pairs."""

    by_kind: dict[Kind, dict[Pair, Reading]]
    many: bool
    """Whether half of the pairs or more are slow, so that it may be how the fabric is built."""


def group_pairs(looks: Iterable[FabricLook]) -> dict[Pair, list[FabricLook]]:
    """Return the looks of each pair, in their order."""
    pairs: dict[Pair, list[FabricLook]] = {}
    for look in looks:
        if look.is_pair:
            pairs.setdefault(order_pair(*look.hosts), []).append(look)
    return pairs


def select_measured(pairs: Mapping[Group, list[FabricLook]]) -> dict[Group, list[FabricLook]]:
    """Return the looks that gave figures, of the groups that have such."""
    measured = {pair: [look for look in looks if look.outcome == "measured"] for pair, looks in pairs.items()}
    return {pair: looks for pair, looks in measured.items() if looks}


def find_troubles(pairs: Looks, norms: Norms | None) -> Troubles:
    """Return what is wrong with each pair in all its looks, or, where results are wrong, in any."""
    done = select_measured(pairs)
    stuck = {pair: Reading(0.0, 0.0) for pair in pairs if pair not in done}
    wrong = {pair: max(look.wrong for look in good) for pair, good in done.items()}
    resent = {
        pair: min(shares)
        for pair, good in done.items()
        if (shares := [x.resent for x in good if x.resent is not None])
    }
    delays = {
        pair: min(times)
        for pair, good in done.items()
        if (times := [x.latency_us for x in good if x.latency_us is not None])
    }
    slow, many = find_slow(done)
    return Troubles(
        {
            "stuck": stuck,
            "wrong": {pair: Reading(float(count), 0.0) for pair, count in wrong.items() if count},
            "drops": _above(resent, _RESENT_TIMES, _RESENT),
            "slow": slow,
            "low": find_low(done, norms),
            "late": _above(delays, _LATE, 0.0),
        },
        many,
    )


def list_transports(looks: Iterable[FabricLook]) -> list[str]:
    """Return what carried the bytes of some looks: ``TCP``, ``InfiniBand``."""
    return sorted({name for look in looks for name in look.transports})


def make_kind(done: Mapping[Group, list[FabricLook]]) -> HostKind:
    """Return what groups have in common whose norms may be compared: how many hosts, and the transports."""
    over = list_transports(look for looks in done.values() for look in looks)
    count = len(next(iter(done), ()))
    return HostKind(model=FABRIC, count=count, topology=" and ".join(over), nvls=None, driver="")


def find_low(done: Mapping[Group, list[FabricLook]], norms: Norms | None) -> dict[Group, Reading]:
    """Return the groups that are below a norm by their best looks, beside the least that it asks for."""
    low: dict[Group, Reading] = {}
    kind = make_kind(done) if norms else None
    for (op, size), best in find_best(done).items() if kind else ():
        figure = Measurement(name=f"fabric_{op}", size=size, value=None, unit="GB/s", message="")
        if kind and (norm := catalogue.find_norm(figure, kind, norms)):
            least = norm.value * (1 - norm.margin)
            low |= {
                group: Reading(value, least, size, norm.source)
                for group, value in best.items()
                if value < least
            }
    return low


def _above(values: Mapping[Pair, float], times: float, least: float) -> dict[Pair, Reading]:
    if len(values) < _COMPARED:
        return {}
    middle = median(values.values())
    limit = max(times * middle, least)
    return {pair: Reading(value, middle) for pair, value in values.items() if value > limit}


def find_slow(done: Looks) -> tuple[dict[Pair, Reading], bool]:
    """Return the pairs that are far below the others by their best looks, and whether they are half or more.

    All are compared at the largest size that most of them reached in their time, and one that did not reach
    it at its own largest. A link carries every collective: it is not slow where one of them is as fast as
    elsewhere.
    """
    best = find_best(done)
    slow: dict[Pair, Reading] = {}
    fast: set[Pair] = set()
    for op in sorted({op for op, _ in best}):
        sizes = {size: figures for (of, size), figures in best.items() if of == op}
        reached = [size for size, figures in sizes.items() if 2 * len(figures) >= len(done)]
        if len(done) < _COMPARED or not reached:
            continue
        size = max(reached)
        figures = sizes[size]
        middle = find_outliers([*figures.values()], SPEED).middle
        medians = {of: median(found.values()) for of, found in sizes.items()}
        limit = _limit(figures.values(), middle)
        found = {
            pair: Reading(value, middle, size)
            for pair, value in figures.items()
            if SPEED.worse(value, middle) > limit
        }
        for pair in done.keys() - sizes[size].keys():
            if own := [each for each, figures in sizes.items() if pair in figures and each < size]:
                reading = Reading(sizes[max(own)][pair], medians[max(own)], max(own))
                if SPEED.worse(reading.value, reading.median) > limit:
                    found[pair] = reading
        slow |= {pair: max(found[pair], slow.get(pair, found[pair]), key=_worse) for pair in found}
        fast |= {pair for figures in sizes.values() for pair in figures} - found.keys()
    slow = {pair: reading for pair, reading in slow.items() if pair not in fast}
    return slow, bool(slow) and 2 * len(slow) >= len(done)


def _limit(figures: Iterable[float], middle: float) -> float:
    """Return how much worse than the ``middle`` is too slow: by their noise, which those above it show."""
    above = [figure / middle - 1 for figure in figures if figure >= middle > 0]
    return max(SPEED.distance or 0.0, _NOISE * 1.4826 * median(above or [0.0]))


def _worse(reading: Reading) -> float:
    return reading.worse


def find_best(done: Mapping[Group, list[FabricLook]]) -> dict[tuple[str, int], dict[Group, float]]:
    """Return the best bandwidth of each group in GB/s, by collective and size."""
    best: dict[tuple[str, int], dict[Group, float]] = {}
    for group, looks in done.items():
        for look in looks:
            for figure in look.bandwidths:
                of = best.setdefault((figure.op, figure.size), {})
                of[group] = max(figure.gb_s, of.get(group, 0.0))
    return best


def find_blamed(bad: Collection[Pair], pairs: Looks, again: int) -> tuple[dict[str, list[Pair]], list[Pair]]:
    """Return the hosts that explain ``bad`` pairs, each with its own, and the pairs that are left.

    A host is blamed for more than half of its pairs, and two at least, the worst host first. Of those that
    were measured again, ``again`` have to be bad, and more than half: not a host that was slow for a while.
    """
    left, of_all = set(bad), Counter(host for pair in pairs for host in pair)
    blamed: dict[str, list[Pair]] = {}
    while True:
        counts = Counter(host for pair in left for host in pair)
        shares = {host: count / of_all[host] for host, count in counts.items() if count >= 2}
        host = max(sorted(shares), key=lambda name: shares[name], default=None)
        if host is None or shares[host] <= 0.5:
            return blamed, sorted(left)
        own = [pair for pair in left if host in pair]
        looked = [pair in bad for pair, looks in pairs.items() if host in pair and len(looks) > 1]
        if again and (sum(looked) < again or 2 * sum(looked) <= len(looked)):
            of_all[host] *= len(pairs)  # it is not asked for again
            continue
        left.difference_update(own)
        blamed[host] = sorted(own)
        of_all.subtract(member for pair in pairs if host in pair for member in pair)
