# SPDX-License-Identifier: Apache-2.0
"""The component of a federation's server that guards it: against models and results that must not pass."""

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext

from rekindle.trainer.exchange import TRAINS, read_dxo, read_dxo_kind, read_peer

from . import refusals, sizes
from .member import read_member

_WEIGHTS = ("WEIGHTS", "WEIGHT_DIFF")


class Bounds(FLComponent):  # type: ignore[misc]  # NVFlare is untyped
    """Ends a job whose model the links do not bear, and refuses results that would spoil the model.

    By the first model sent it prints what a round's transfers are foretold to take. A result with numbers
    that are not finite, unlike those that were sent, or of another shape becomes one that failed, before it
    is aggregated: NVFlare's own aggregation takes the first, and by the second refuses those of all others.
    """

    def __init__(self) -> None:
        """Start before the first task."""
        super().__init__()
        self._done = False
        self._sent: dict[str, refusals.Leaf] = {}

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Look at the first task with a model, and at each result."""
        if event_type == EventType.BEFORE_TASK_DATA_FILTER:
            self._look_at_model(fl_ctx)
        elif event_type == EventType.BEFORE_TASK_RESULT_FILTER:
            self._look_at_result(fl_ctx)

    def _look_at_model(self, fl_ctx: FLContext) -> None:
        if self._done:
            return
        data = fl_ctx.get_prop(FLContextKey.TASK_DATA)
        found = sizes.measure_model(data)
        if not found["model"]:
            return
        self._done, mine = True, read_member()
        self._sent = refusals.read_leaves(read_dxo(data).get("data"))
        print(sizes.foretell_round(mine.get("ways", ()), found), flush=True)
        if why := sizes.find_excess(mine.get("bound"), found):
            print(why, flush=True)
            self.system_panic(why, fl_ctx)

    def _look_at_result(self, fl_ctx: FLContext) -> None:
        result = fl_ctx.get_prop(FLContextKey.TASK_RESULT)
        got = read_dxo(result)
        if fl_ctx.get_prop(FLContextKey.TASK_NAME) != TRAINS or read_dxo_kind(got) not in _WEIGHTS:
            return
        if why := refusals.find_result_flaw(got.get("data"), self._sent):
            print(f"The result of {read_peer(fl_ctx)} was refused: {why}.", flush=True)
            result.set_return_code(ReturnCode.EXECUTION_RESULT_ERROR)
            result.pop("DXO", None)
