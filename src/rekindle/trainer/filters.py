# SPDX-License-Identifier: Apache-2.0
"""What a site's own filters change in its results.

For a client's process, which has NVFlare loaded already.
"""

from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.app_constant import AppConstants

from .arrays import select_floating, sketch_weights
from .evidence import Evidence, name_server, record_error
from .exchange import read_dxo, read_dxo_data
from .tasks import digest_names


class FilterWitness(FLComponent):  # type: ignore[misc]  # NVFlare is untyped
    """Writes into ``<site>.server.jsonl`` a MadeEvent for each result of numbers that filters get."""

    def __init__(self, site: str) -> None:
        """Start before the first task of a site."""
        super().__init__()
        self._site, self._recorder = site, f"{site}.{name_server()}"
        self._round: Any = None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Note a task's round, and record its result before any filter."""
        try:
            if event_type == EventType.BEFORE_TASK_EXECUTION:
                task = fl_ctx.get_prop(FLContextKey.TASK_DATA)
                self._round = task.get_header(AppConstants.CURRENT_ROUND)
            elif event_type == EventType.BEFORE_TASK_RESULT_FILTER and isinstance(self._round, int):
                result = read_dxo_data(read_dxo(fl_ctx.get_prop(FLContextKey.TASK_RESULT)))
                if made := select_floating(result):
                    sketch, names = sketch_weights(made), digest_names(made)
                    of = {"site": self._site, "round": self._round}
                    Evidence(self._recorder).write("made", **of, sketch=sketch, names=names)
        except Exception as error:
            record_error(error, self._recorder, self._site)
