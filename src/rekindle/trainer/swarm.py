# SPDX-License-Identifier: Apache-2.0
"""What a site of NVFlare's swarm learning has of the others' results, when it is the one that aggregates.

For a client's process, which has NVFlare loaded already.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.abstract.model import ModelLearnableKey
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from nvflare.app_common.ccwf.common import Constant

from .arrays import select_floating, sketch_model, sketch_weights
from .evidence import Evidence, name_server, record_error
from .exchange import TRAINS, read_global_weights, read_peer
from .tasks import TaskWitness, digest_names


class SwarmWitness(TaskWitness):
    """Writes into ``<site>.server.jsonl`` a TaskEvent for each result that the site's aggregator accepts.

    And a GlobalEvent for each model with which a round begins there, or that it aggregated last.
    """

    def __init__(self, components: Mapping[str, Any]) -> None:
        """Start before the first round, among the components of the process, by their ids."""
        super().__init__(components)
        self._site = ""
        self._model: dict[str, Any] = {}
        self._floating: tuple[str, ...] = ()

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Keep a copy of the model of a round, as trainers here may alter it, and record results."""
        try:
            if event_type == AppEventType.ROUND_STARTED:
                self._begin_round(fl_ctx, fl_ctx.get_prop(AppConstants.CURRENT_ROUND))
            elif event_type == EventType.AFTER_TASK_EXECUTION and not self._floating:
                if fl_ctx.get_prop(AppConstants.GLOBAL_MODEL):  # the persistor's, before any round
                    self._floating = tuple(select_floating(read_global_weights(fl_ctx)))
            elif event_type == AppEventType.AFTER_CONTRIBUTION_ACCEPT:
                if fl_ctx.get_prop(AppConstants.AGGREGATION_ACCEPTED):
                    sender, number = read_peer(fl_ctx), fl_ctx.get_prop(AppConstants.CURRENT_ROUND)
                    self._rounds[sender], self._sent[sender] = number, self._model
                    result = fl_ctx.get_prop(AppConstants.TRAINING_RESULT)
                    self._record_result(sender, TRAINS, result)
            elif event_type == Constant.EXECUTOR_FINALIZED:
                controller = fl_ctx.get_prop(Constant.EXECUTOR)
                if self._model and controller.last_result:
                    weights = controller.last_result[ModelLearnableKey.WEIGHTS]
                    self._record_global(controller.last_round + 1, weights)
        except Exception as error:
            record_error(error, self._recorder, self._site)

    def _begin_round(self, fl_ctx: FLContext, number: int) -> None:
        self._site = fl_ctx.get_identity_name()
        self._recorder = f"{self._site}.{name_server()}"
        weights = read_global_weights(fl_ctx)
        self._model = deepcopy(weights)
        if number == 0:
            Evidence(self._recorder).model("", **sketch_model(weights))
        self._record_global(number, weights)

    def _averaged(self, tree: Any) -> dict[str, Any]:
        """Return those in the persistor's model: no counter of batches, whose mean and changes are floats."""
        return {name: leaf for name, leaf in select_floating(tree).items() if name in self._floating}

    def _record_global(self, number: int, weights: dict[str, Any]) -> None:
        found = self._averaged(weights)
        Evidence(self._recorder).global_model(number, sketch_weights(found), digest_names(found))
