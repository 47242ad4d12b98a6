# SPDX-License-Identifier: Apache-2.0
"""Shortens NVFlare's own waits between and after rounds, in every job; what a job sets itself stays.

Where the time of a short run goes is written in docs/why/waits.md.
"""

import os
import time
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any

_REQUEST_S = 0.2
"""How long a client waits before it asks the server for the next task; NVFlare's own is 2 s."""
_POLL_S = 0.1
"""How often a client looks whether its trainer has answered; NVFlare's own is 0.5 s."""
_HEARTBEAT_S = 0.5
"""How often a trainer shows that it is there, before which it gets no task; NVFlare's own is 5 s."""
_DOWNLOADED_S = 0.2
"""How often a process looks whether its weights were downloaded; NVFlare's own is 5 s, a constant."""


def hasten_server(configurator: Any) -> None:
    """Have clients ask for tasks more often, unless the job's configuration says how often."""
    if "task_request_interval" not in configurator.config_data.get("server", {}):
        configurator.task_request_interval = min(configurator.task_request_interval, _REQUEST_S)


def hasten_client(configurator: Any) -> None:
    """Have executors look more often whether their trainers have answered."""
    for entry in configurator.executors:
        if hasattr(entry.executor, "result_poll_interval"):
            entry.executor.result_poll_interval = min(entry.executor.result_poll_interval, _POLL_S)


def hasten_pipes(module: ModuleType) -> None:
    """Have both ends of a pipe between a client and its trainer read and show themselves more often."""
    initialise = module.PipeHandler.__init__

    def hastened(self: Any, *arguments: Any, **named: Any) -> None:
        initialise(self, *arguments, **named)
        self.read_interval = min(self.read_interval, _POLL_S)
        self.heartbeat_interval = min(self.heartbeat_interval, _HEARTBEAT_S)

    module.PipeHandler.__init__ = hastened


def join_agents(module: ModuleType) -> None:
    """Have ``init()`` and then ``init("0")``, as NVFlare's Lightning calls it, start one agent and not two.

    A task that comes between them goes to the first, which is never asked; short waits make that likelier.
    """
    initialise = module.init

    @wraps(initialise)
    def joined(rank: Any = None, *arguments: Any, **named: Any) -> Any:
        return initialise(os.environ.get("RANK", "0") if rank is None else rank, *arguments, **named)

    module.init = joined  # type: ignore[attr-defined]  # NVFlare has it


def hasten_downloads(module: ModuleType) -> None:
    """Have a process that offers weights for download look more often whether they were fetched."""

    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, _DOWNLOADED_S))

    module.time = SimpleNamespace(**{**vars(time), "sleep": sleep})  # type: ignore[attr-defined]
