# SPDX-License-Identifier: Apache-2.0
"""Which hosts are measured at once: each host is in one group at a time."""

from collections.abc import Iterable, Iterator, Sequence

Pair = tuple[str, str]


def order_pair(one: str, other: str) -> Pair:
    """Return two hosts as the name of their pair."""
    return (one, other) if one < other else (other, one)


def list_rounds(hosts: Sequence[str]) -> Iterator[list[Pair]]:
    """Yield steps of disjoint pairs, in which each host meets each other one once.

    There are n - 1 steps for an even number of n hosts, and n for an odd one, in each of which one rests.
    """
    circle: list[str | None] = [*hosts] if len(hosts) % 2 == 0 else [*hosts, None]
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        ends = zip(circle[:half], reversed(circle[half:]), strict=True)
        if step := [order_pair(one, other) for one, other in ends if one and other]:
            yield step
        circle = [circle[0], circle[-1], *circle[1:-1]]


def match_pairs(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Return steps of disjoint pairs that have all ``pairs``, each in the first step with room for it."""
    steps: list[tuple[set[str], list[Pair]]] = []
    for pair in pairs:
        step = next((step for step in steps if not step[0] & set(pair)), None)
        if step is None:
            steps.append(step := (set(), []))
        step[0].update(pair)
        step[1].append(pair)
    return [chosen for _, chosen in steps]


def cut_group(hosts: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return both halves of two hosts or more."""
    middle = len(hosts) // 2
    return hosts[:middle], hosts[middle:]
