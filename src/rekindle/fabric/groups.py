# SPDX-License-Identifier: Apache-2.0
"""Looks at more than two hosts: at all together, and at halves of what is wrong there."""

from collections.abc import Iterable, Sequence
from statistics import median

from rekindle.records.fabric import FabricLook

from .pairs import SPEED

_TOGETHER = 0.5
"""Share of the median pair's bandwidth below which all hosts together are too slow."""


def list_whole(looks: Iterable[FabricLook]) -> list[FabricLook]:
    """Return the looks at all hosts together; those after them are at halves."""
    groups = [look for look in looks if not look.is_pair]
    return [look for look in groups if len(look.hosts) == len(groups[0].hosts)]


def find_bad_groups(
    groups: Sequence[FabricLook], than: float, beside: Sequence[FabricLook] = ()
) -> list[FabricLook]:
    """Return the groups that gave no result, a wrong one, or a bandwidth below ``than`` GB/s.

    Args:
        groups: measured at once.
        than: 0 if no bandwidth is too low.
        beside: the groups whose best is compared too, of the same size; a slower one of them is bad.
    """
    rates = [rate for group in beside if (rate := find_rate(group)) is not None]
    least = max([than, *((1 - (SPEED.distance or 0.0)) * rate for rate in rates)])
    return [
        group
        for group in groups
        if group.outcome != "measured"
        or group.wrong
        or (least > 0 and (rate := find_rate(group)) is not None and rate < least)
    ]


def find_rate(look: FabricLook) -> float | None:
    """Return the bandwidth of the all-reduce at the largest size in GB/s."""
    figures = [figure for figure in look.bandwidths if figure.op == "all_reduce"]
    return max(figures, key=lambda figure: figure.size).gb_s if figures else None


def pick_whole(looks: Iterable[FabricLook]) -> FabricLook | None:
    """Return the look at all hosts together that counts: one without a right result, or else the fastest."""
    whole = list_whole(looks)
    bad = find_bad_groups(whole, 0.0)
    return next(iter(bad), None) or max(whole, key=lambda look: find_rate(look) or 0.0, default=None)


def find_floor(looks: Iterable[FabricLook]) -> float:
    """Return the bandwidth in GB/s that all hosts together have to reach, by that of pairs; 0 without any."""
    rates = [rate for look in looks if look.is_pair and (rate := find_rate(look)) is not None]
    return _TOGETHER * median(rates) if rates else 0.0
