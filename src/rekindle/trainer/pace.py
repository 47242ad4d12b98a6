# SPDX-License-Identifier: Apache-2.0
"""How long a rank takes for its own part of each step; all else of a step ranks do at one another's pace."""

import time
from typing import Any

import torch
from torch import nn

from .ranks import NODES


class Pace:
    """The forward passes of a network in training, in which no rank waits for another.

    Nothing is timed where all ranks are on one machine.
    """

    def __init__(self, network: nn.Module) -> None:
        """Take the network inside of DDP's wrapper, on its device."""
        self._passes: list[tuple[Any, Any]] = []
        if NODES > 1:
            network.register_forward_pre_hook(self._begin)
            network.register_forward_hook(self._end)

    def _begin(self, network: nn.Module, inputs: Any) -> None:
        self._began = _now()

    def _end(self, network: nn.Module, inputs: Any, outputs: Any) -> None:
        if network.training:
            self._passes.append((self._began, _now()))

    def take(self) -> float | None:
        """Return the seconds of all passes since the last call; None if there were none."""
        passes, self._passes = self._passes, []
        if passes and torch.cuda.is_available():
            torch.cuda.synchronize()
            return float(sum(began.elapsed_time(ended) for began, ended in passes)) / 1000
        return sum(ended - began for began, ended in passes) if passes else None


def _now() -> Any:
    """Return this moment: of the GPU's own stream, which the network runs in, or else of the CPU."""
    if not torch.cuda.is_available():
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event
