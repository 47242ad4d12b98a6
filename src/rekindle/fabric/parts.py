# SPDX-License-Identifier: Apache-2.0
"""Each host's part of a survey, from what is known of the hosts."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rekindle.gpus.visibility import list_visible_gpus
from rekindle.host import folders
from rekindle.host.queues import NOTICE_S
from rekindle.records import Complaint, HostRecord, Norms, dump_builtins
from rekindle.records.layout import env_in, host_in
from rekindle.records.plan import has_torch

from .wire import make_token

_LIMITS = {True: {"limit_s": 90, "budget_s": 20}, False: {"limit_s": 25, "budget_s": 8}}
"""Seconds of one measurement, and for its figures, with GPUs and without."""
_JOIN_S = 240
"""For all hosts to be there: torch and CUDA take up to a minute from a cold disk."""
_OTHER_STEPS = 20
"""Repetitions, all together and halves, of any number of hosts."""


def make_parts(
    results: Path, addresses: Mapping[str, str], port: int, norms: Norms | None = None
) -> dict[str, dict[str, Any]]:
    """Return the part of each host that is measured, which `rekindle.fabric` reads there.

    The nodes of an allocation are measured by themselves, and all other hosts together. Where there is only
    one, there is nothing between.

    Args:
        results: results/<run>, with the hosts' records.
        addresses: of all hosts, as others reach each one.
        port: of the first that are measured together; the 500 after it are for the groups.
        norms: the inventory's.

    Raises:
        Complaint: a host has no torch, or an allocation no time for it.
        RecordError: a record is missing or broken.
    """
    known = {host: host_in(results / host) for host in addresses}
    common: dict[str, Any] = {"port": port, "join_s": _JOIN_S}
    common |= {"norms": dump_builtins(norms) if norms else None}
    token = secrets.token_hex(16)
    together = [host for host, record in known.items() if record.allocation is None]
    on_gpus = all(list_visible_gpus(known[host]) for host in together)
    parts: dict[str, dict[str, Any]] = {}
    for host, record in known.items():
        nodes = record.allocation.nodes if record.allocation else 0
        if (nodes or len(together)) < 2:
            continue
        gpus = list_visible_gpus(record) if nodes or on_gpus else []
        limits = _LIMITS[bool(gpus)]
        total_s = _JOIN_S + limits["limit_s"] * ((nodes or len(together)) + _OTHER_STEPS)
        conducts = bool(nodes) or host == together[0]
        parts[host] = {
            **common,
            **limits,
            "token": token if conducts else make_token(token, host),  # no other can say that it is this one
            "total_s": _limit_total(record, total_s),
            "hosts": [] if nodes else together,  # nodes are known once they are given
            "nodes": nodes,
            "allocation": dump_builtins(record.allocation) if record.allocation else None,
            "address": addresses[together[0]] if together else "",
            "host": "" if nodes else host,
            "conducts": conducts,
            "gpus": gpus,
            "python": _find_torch(results / host, host),
            "folder": f"{record.root}/{folders.FABRIC}",
        }
    return parts


def _limit_total(host: HostRecord, total_s: int) -> int:
    """Return ``total_s``, or what an allocation leaves of it."""
    if host.allocation is None:
        return total_s
    left_s = host.allocation.time_s - 2 * NOTICE_S
    if left_s < _JOIN_S:
        asked = f"{host.allocation.setting} of {host.host} asks for {host.allocation.time}"
        needs = _JOIN_S + 2 * NOTICE_S
        raise Complaint(
            f"{asked}, and a measurement of what is between its nodes takes {needs} s or more.",
            "ask for a longer time there.",
        )
    return min(total_s, left_s)


def _find_torch(home: Path, host: str) -> str:
    for environment in env_in(home).environments:
        if has_torch(environment.framework):
            return environment.python
    raise Complaint(
        f"{host} has no environment with torch, by which the fabric is measured.",
        "put torch into rekindle_frameworks.",
    )
