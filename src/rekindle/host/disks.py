# SPDX-License-Identifier: Apache-2.0
"""Environments on the own disks of a cluster's nodes: their specifications, their nodes, their removal.

All of it is recorded in the root, which the nodes share. Standard library alone, for the end of a lease.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import batch, folders, own, slurm

_ASKED, _NODES = "asked.json", "nodes"
_PATIENCE_S = 60
"""For SLURM to allocate a node that is to be cleared; nothing waits for a busy one."""


def keep(root: Path, asked: Mapping[str, Any], specs: Iterable[Mapping[str, Any]]) -> None:
    """Record the environments that belong on nodes' own disks, and the Slurm record ``asked``."""
    for spec in specs:
        if spec["local"]:
            name = folders.environment(root, spec["name"], spec["lock_sha256"]).name
            own.write(root / folders.LOCAL / f"{name}.json", json.dumps(spec).encode())
            own.write(root / folders.LOCAL / _ASKED, json.dumps(dict(asked)).encode())


def kept(root: Path, name: str) -> Any:
    """Return the Specification of an environment by the name of its folder.

    Raises:
        OSError: no environment of that name was built for this root.
    """
    return json.loads((root / folders.LOCAL / f"{name}.json").read_bytes())


def note(root: Path, local: str) -> None:
    """Record that this node is about to have files below ``local``; do nothing if that is empty."""
    if local:
        own.write(root / folders.LOCAL / _NODES / slurm.node(os.environ), local.encode())


def clear(root: Path) -> list[str]:
    """Remove the environments on each node that SLURM gives within a minute; return a message for others."""
    local = root / folders.LOCAL
    nodes = {path.name: path.read_text(encoding="utf-8") for path in sorted(local.glob(f"{_NODES}/[!.]*"))}
    if not nodes:
        return []
    asked = json.loads((local / _ASKED).read_bytes())
    options = batch.options({**asked, "time": "00:05:00", "gpus_per_node": 0})
    srun = ("srun", "--quiet", "--nodes=1", "--ntasks=1")
    options += ["--job-name=rekindle-retire", f"--immediate={_PATIENCE_S}", "--chdir=/"]
    steps = {}
    for node, folder in nodes.items():
        steps[node] = subprocess.Popen(
            [*srun, f"--nodelist={node}", *options, "rm", "-rf", "--", folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    ends, left = time.monotonic() + 2 * _PATIENCE_S, []
    for node, step in steps.items():
        try:
            _, errors = step.communicate(timeout=max(1.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            step.terminate()
            errors = f"it took longer than {2 * _PATIENCE_S} s"
        if step.returncode != 0:
            why = " ".join(errors.split())[-200:] or "SLURM gives no reason"
            left.append(
                f"{node} keeps {nodes[node]}: {why}. Fix: remove it there, once the node can be reached."
            )
    return left
