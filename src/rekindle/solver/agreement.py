# SPDX-License-Identifier: Apache-2.0
"""One build for many hosts, or the fewest that suit all of them, and which hosts hold the others back."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rekindle.gpus.models import parse_version
from rekindle.gpus.visibility import find_usable_gpus

from .axes import evaluate_build
from .catalogue import CatalogueBuild, list_builds
from .choice import Request, find_candidates

Key = tuple[tuple[int, ...], str, str]
"""Identifies a build on any architecture: the version that orders builds by age, variant, own version."""

_Host = tuple[Request, dict[Key, CatalogueBuild]]
"""A request, and each build that fits."""


@dataclass(frozen=True)
class Group:
    """Hosts that can have the same build."""

    build: CatalogueBuild
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Agreement:
    """The fewest groups of hosts, what prevents fewer or newer builds, and the hosts without any."""

    groups: tuple[Group, ...]
    held_back: tuple[str, ...]
    """A sentence for each kind of host that holds the others back."""
    refused: tuple[str, ...]


def solve_together(requests: Sequence[Request]) -> Agreement:
    """Return the builds for the hosts of ``requests``, which are for one framework."""
    every_host: list[_Host] = [
        (request, {_key(build): build for build in find_candidates(request)}) for request in requests
    ]
    hosts = [(request, fit) for request, fit in every_host if fit]
    keys = _fewest(fit for _, fit in hosts)
    groups: dict[Key, list[_Host]] = {}
    for request, fit in hosts:
        groups.setdefault(next(key for key in keys if key in fit), []).append((request, fit))
    grouped = tuple(
        Group(members[0][1][key], tuple(request.host.host for request, _ in members))
        for key, members in groups.items()
    )
    refused = tuple(request.host.host for request, fit in every_host if not fit)
    return Agreement(grouped, tuple(_held_back(hosts, keys)), refused)


def _key(build: CatalogueBuild) -> Key:
    return parse_version(build.torch or build.version), build.variant, build.version


def _fewest(choices: Iterable[Iterable[Key]]) -> tuple[Key, ...]:
    """Return the fewest builds such that each host has one, preferring the newest.

    Builds for the CPU come first, as in `find_candidates`: only hosts without GPUs can have them.
    """
    sets = [frozenset(keys) for keys in choices]
    every = sorted(frozenset[Key]().union(*sets), key=lambda key: (key[1] == "cpu", key), reverse=True)
    for size in range(1, len(every) + 1):
        for chosen in itertools.combinations(every, size):
            if all(keys.intersection(chosen) for keys in sets):
                return chosen
    return ()


def _held_back(hosts: Sequence[_Host], keys: tuple[Key, ...]) -> Iterator[str]:
    """Yield a sentence for each kind of host without which the others have fewer or newer builds."""
    for kind in dict.fromkeys(frozenset(fit) for _, fit in hosts):
        out = [request for request, fit in hosts if fit.keys() == kind]
        rest = [fit for _, fit in hosts if fit.keys() != kind]
        better = _fewest(rest)
        most = len(keys) > 1 and len(out) > len(rest)
        if not rest or most or (-len(better), better) <= (-len(keys), keys):
            continue
        key = next(key for key in better if key not in kind)
        newer = next(fit[key] for fit in rest if key in fit)
        first = out[0]
        same = (build for build in list_builds(first.framework, first.nvflare) if _key(build) == key)
        own = next((build for build in same if build.architecture == first.host.os.architecture), newer)
        why = "; ".join(reason.message for reason in evaluate_build(own, first.host) if not reason.holds)
        why = why or f"it gets a build for {'GPUs' if find_usable_gpus(first.host) else 'the CPU'}"
        names = ", ".join(request.host.host for request in out)
        rest_has = f"{newer.title} fits all others" if len(better) == 1 else f"{len(better)} builds do"
        yield f"without {names}, {rest_has}: {why}"
