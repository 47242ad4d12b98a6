# SPDX-License-Identifier: Apache-2.0
"""Whether the GPUs of the node on which this runs are right now, by the probes and sentences of preflight."""

from collections.abc import Callable
from typing import Any

from rekindle.gpus.visibility import has_trace
from rekindle.records import Complaint
from rekindle.records.action import rank_action

from .frames import PartialFrames, ask_frames
from .gpu_flaws import find_gpu_flaws, list_gpu_warnings
from .record import read_host

_PROBES = (
    *("nvidia-smi", "nvidia-query", "nvidia-list", "nvidia-nvlink", "xids", "stuck", "cuda", "pci"),
    *("driver-sys", "driver-proc", "home", "uid", "kernel", "architecture", "cores", "memory"),
)
LIMIT_S = 2
"""Of all probes, which run at once."""
_ALONE = "run this on nodes with GPUs alone."


def look_at_node(execute: Callable[..., dict[str, Any]], node: str) -> tuple[int, list[Complaint]]:
    """Return how many GPUs show, and what is wrong with them or will be, the most severe first.

    Memory that others use is no flaw here: other jobs may run on a node.

    Args:
        execute: runs a line of sh, as an action's ``_low_level_execute_command`` does.
        node: its name.

    Raises:
        FactsError: the node does not answer.
    """
    frames = PartialFrames(ask_frames(execute, "~", "~", *_PROBES, limits_s=(LIMIT_S,)))
    host = read_host(frames, node, "~")
    found = [*find_gpu_flaws(host), *list_gpu_warnings(host)]
    if not has_trace(host):  # a node without GPUs is not called right
        found = [Complaint(flaw.message, _ALONE, "RETEST") for flaw in found]
    return len(host.gpus), sorted(found, key=lambda flaw: rank_action(flaw.action), reverse=True)
