# SPDX-License-Identifier: Apache-2.0
"""Shortens NVFlare's own waits between and after rounds, in every job; what a job sets itself stays.

Where the time of a short run goes is written in docs/why/waits.md.
"""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import thread as pools
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any

_REQUEST_S = 0.2
"""How long a client waits before it asks the server for the next task; NVFlare's own is 2 s."""
_POLL_S = 0.1
"""How often a client looks whether its trainer has answered; NVFlare's own is 0.5 s."""
_HEARTBEAT_S = 0.5
"""How often a trainer shows that it is there, before which it gets no task; NVFlare's own is 5 s."""
_LOOK_S = 0.2
"""How often a process looks for downloads, or for parts of a simulation; NVFlare's own are 5 and 1 s."""
_QUIET_S = 0.5
"""The least that a simulation waits before it ends; NVFlare's own is 3 s, whether a thread goes on or not."""


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


def hasten_looks(module: ModuleType) -> None:
    """Have a module of NVFlare sleep shorter between its looks, as whether weights were fetched."""

    def sleep(seconds: float) -> None:
        time.sleep(min(seconds, _LOOK_S))

    module.time = SimpleNamespace(**{**vars(time), "sleep": sleep})  # type: ignore[attr-defined]


def _is_awaited(thread: threading.Thread) -> bool:
    return not thread.daemon and thread not in pools._threads_queues


def hasten_end(module: ModuleType) -> None:
    """Have a simulation end once the job's own threads have, within the time that NVFlare gives to them.

    NVFlare's own are of pools, which it closes afterwards.
    """
    monitor = module.mpm

    def run(main_func: Callable[[], Any], shutdown_grace_time: float = 3, **named: Any) -> Any:
        before = set(threading.enumerate())

        def run_and_wait() -> Any:
            try:
                return main_func()
            finally:
                ends = time.monotonic() + shutdown_grace_time
                time.sleep(min(shutdown_grace_time, _QUIET_S))
                while time.monotonic() < ends and any(map(_is_awaited, set(threading.enumerate()) - before)):
                    time.sleep(_POLL_S)

        return monitor.run(run_and_wait, shutdown_grace_time=0, **named)

    module.mpm = SimpleNamespace(run=run)  # type: ignore[attr-defined]
