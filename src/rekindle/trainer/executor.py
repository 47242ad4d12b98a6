# SPDX-License-Identifier: Apache-2.0
"""NVFlare's executor without its wait for a heartbeat of a trainer that it knows."""

from typing import Any

from nvflare.app_common.abstract.launcher import LauncherRunStatus
from nvflare.app_common.executors.client_api_launcher_executor import ClientAPILauncherExecutor

_POLL_S = 0.1


class PromptExecutor(ClientAPILauncherExecutor):  # type: ignore[misc]  # NVFlare is untyped
    """Hands the next task to a trainer that has answered before and still runs, without a heartbeat.

    It is for trainers that are launched once. One that has ended is found by its process, as NVFlare does.
    """

    def __init__(self, **arguments: Any) -> None:
        """Take what NVFlare's own executor takes."""
        super().__init__(read_interval=_POLL_S, **arguments)
        self.result_poll_interval = _POLL_S
        self._answered = False

    def check_output_shareable(self, *arguments: Any, **named: Any) -> bool:
        """Note that the trainer has answered."""
        self._answered = bool(super().check_output_shareable(*arguments, **named))
        return self._answered

    def peer_is_up_or_dead(self) -> bool:
        """Whether a task may be sent."""
        runs = self.launcher.check_run_status("", None) == LauncherRunStatus.RUNNING
        return (self._answered and runs) or bool(super().peer_is_up_or_dead())
