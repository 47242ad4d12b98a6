"""The component of a federation's server that ends a job whose model the links do not bear."""

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext

from . import sizes
from .participant import participant


class Bounds(FLComponent):  # type: ignore[misc]  # NVFlare is untyped
    """Prints what a round's transfers are foretold to take, or ends the job: by the first model sent."""

    def __init__(self) -> None:
        """Start before the first task."""
        super().__init__()
        self._done = False

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Look at the first task with a model."""
        if self._done or event_type != EventType.BEFORE_TASK_DATA_FILTER:
            return
        found = sizes.of_model(fl_ctx.get_prop(FLContextKey.TASK_DATA))
        if not found["model"]:
            return
        self._done, mine = True, participant()
        print(sizes.foretold(mine.get("ways", ()), found), flush=True)
        if why := sizes.beyond(mine.get("bounds", ()), found):
            print(why, flush=True)
            self.system_panic(why, fl_ctx)
