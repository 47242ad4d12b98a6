"""Environments on the own disks of a cluster's nodes: what they are of, which nodes have any, and their end.

All of it is written down in the root, which the nodes share. Standard library alone, for the end of a lease.
"""

from __future__ import annotations

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
"""For SLURM to give a node that is to be cleared; a busy one is not waited for."""


def keep(root: Path, asked: Mapping[str, Any], specs: Iterable[Mapping[str, Any]]) -> None:
    """Write down, of what is built for a Slurm record ``asked``, what belongs on nodes' own disks."""
    for spec in specs:
        if spec["local"]:
            name = folders.environment(root, spec["name"], spec["lock_sha256"]).name
            own.write(root / folders.LOCAL / f"{name}.json", json.dumps(spec).encode())
            own.write(root / folders.LOCAL / _ASKED, json.dumps(dict(asked)).encode())


def kept(root: Path, name: str) -> Any:
    """Return the Specification of an environment by the name of its folder.

    Raises:
        OSError: none of that name was built for this root.
    """
    return json.loads((root / folders.LOCAL / f"{name}.json").read_bytes())


def note(root: Path, local: str) -> None:
    """Write down that this node is about to have something below ``local``; nothing if that is empty."""
    if local:
        own.write(root / folders.LOCAL / _NODES / slurm.node(os.environ), local.encode())


def clear(root: Path) -> list[str]:
    """Have the nodes that SLURM gives within a minute remove what they have; return which keep theirs."""
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
            _, said = step.communicate(timeout=max(1.0, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            step.terminate()
            said = f"it took longer than {2 * _PATIENCE_S} s"
        if step.returncode != 0:
            why = " ".join(said.split())[-200:] or "SLURM does not say why"
            left.append(
                f"{node} keeps {nodes[node]}: {why}. Fix: remove it there, once the node can be reached."
            )
    return left
