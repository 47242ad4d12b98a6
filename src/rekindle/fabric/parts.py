# SPDX-License-Identifier: Apache-2.0
"""Each host's part of a survey, from what is known of the hosts."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rekindle.gpus.visibility import find_usable_gpus
from rekindle.host import folders
from rekindle.host.instances import list_visible
from rekindle.records import Complaint, HostRecord, Norms, dump_builtins
from rekindle.records.layout import env_in, host_in

_WITH_TORCH = ("torch", "lightning", "transformers")
_LIMITS = {True: {"limit_s": 90, "budget_s": 20}, False: {"limit_s": 25, "budget_s": 8}}
"""Seconds of one measurement, and for its figures, with GPUs and without."""
_JOIN_S = 240
"""For all hosts to be there: torch and CUDA take up to a minute from a cold disk."""
_OTHER_STEPS = 20
"""Repetitions, all together and halves, of any number of hosts."""


def make_parts(
    results: Path, hosts: Sequence[str], address: str, port: int, norms: Norms | None = None
) -> dict[str, dict[str, Any]]:
    """Return the part of each host, which `rekindle.fabric` reads there; the first one also conducts.

    Args:
        results: results/<run>, with the hosts' records.
        hosts: two or more.
        address: of the first, as the others reach it.
        port: of the first; the 500 after it are for the groups.
        norms: the inventory's.

    Raises:
        Complaint: a host is on a cluster, or has no torch.
        RecordError: a record is missing or broken.
    """
    known = {host: host_in(results / host) for host in hosts}
    pythons = {host: _find_torch(results / host, record) for host, record in known.items()}
    gpus = {
        host: list_visible(gpu.uuid for gpu in find_usable_gpus(record) if gpu.uuid)
        for host, record in known.items()
    }
    on_gpus = all(gpus.values())
    limits = _LIMITS[on_gpus]
    common = {
        "hosts": [*hosts],
        "address": address,
        "port": port,
        "token": secrets.token_hex(16),
        "join_s": _JOIN_S,
        "norms": dump_builtins(norms) if norms else None,
        "total_s": _JOIN_S + limits["limit_s"] * (len(hosts) + _OTHER_STEPS),
        **limits,
    }
    return {
        host: {
            **common,
            "host": host,
            "conducts": host == hosts[0],
            "gpus": gpus[host] if on_gpus else [],
            "python": pythons[host],
            "folder": f"{record.root}/{folders.FABRIC}",
        }
        for host, record in known.items()
    }


def _find_torch(home: Path, host: HostRecord) -> str:
    if host.allocation is not None:
        raise Complaint(
            f"{host.host} is on a cluster, and what is between its nodes is not measured.",
            "leave rekindle_fabric out for it.",
        )
    for environment in env_in(home).environments:
        if environment.framework.partition("+")[0] in _WITH_TORCH:
            return environment.python
    raise Complaint(
        f"{host.host} has no environment with torch, by which the fabric is measured.",
        "put torch into rekindle_frameworks.",
    )
