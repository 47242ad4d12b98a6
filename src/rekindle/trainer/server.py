"""What NVFlare's server records: the global model of every round, and each site's result as it aggregates it.

For job.py and for the server, which both have NVFlare loaded already.
"""

import math
import traceback
from contextlib import suppress
from typing import Any

from nvflare.apis.dxo import from_shareable
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, FLMetaKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.abstract.model import ModelLearnableKey
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType

from .arrays import distance, fingerprint
from .evidence import SERVER, Evidence


def witness(recipe: Any) -> None:
    """Make a recipe's server write ``evidence/server.jsonl``; call it before ``recipe.execute``."""
    job = job_of(recipe)
    job.set_app_packages(["rekindle"])  # the server imports it as job.py does, and not from a copy
    job.to_server(ServerWitness(), "rekindle_witness")


def job_of(recipe: Any) -> Any:
    """Return a recipe's FedJob, which is private since NVFlare 2.9."""
    return recipe.job if hasattr(recipe, "job") else recipe._job


class ServerWitness(FLComponent):  # type: ignore[misc]  # NVFlare is untyped
    """Writes a GlobalEvent as each round begins and after the last one, and a ContributionEvent per result.

    It sees models before the filters on their way out and after those on their way in, as they are
    aggregated. It keeps no model; an error in it is recorded and the run goes on.
    """

    def __init__(self) -> None:
        """Start before the first round."""
        super().__init__()
        self._round = self._rounds = 0

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Record what the events of NVFlare's controller show."""
        try:
            if event_type == AppEventType.ROUND_STARTED:
                self._round = fl_ctx.get_prop(AppConstants.CURRENT_ROUND)
                self._rounds = fl_ctx.get_prop(AppConstants.NUM_ROUNDS) or self._rounds  # 2.8: once
                self._record_global(self._round, fl_ctx)
            elif event_type == AppEventType.AFTER_CONTRIBUTION_ACCEPT:
                self._record_contribution(fl_ctx)
            elif event_type == AppEventType.AFTER_SHAREABLE_TO_LEARNABLE and self._round + 1 == self._rounds:
                self._record_global(self._rounds, fl_ctx)
        except Exception as error:
            record_error(error)

    def _record_global(self, number: int, fl_ctx: FLContext) -> None:
        Evidence(SERVER).global_model(number, fingerprint(global_weights(fl_ctx)))

    def _record_contribution(self, fl_ctx: FLContext) -> None:
        accepted = fl_ctx.get_prop(AppConstants.TRAINING_RESULT)
        result = accepted or fl_ctx.get_prop(FLContextKey.TASK_RESULT)
        code = result.get_return_code(ReturnCode.OK)
        if accepted is None and code == ReturnCode.OK:
            code = ReturnCode.TASK_RESULT_FILTER_ERROR  # the only error that replaces the result
        dxo = from_shareable(result) if code == ReturnCode.OK else None
        weights = (dxo.data or {}) if dxo else {}
        steps = dxo.meta.get(FLMetaKey.NUM_STEPS_CURRENT_ROUND) if dxo else None
        Evidence(SERVER).contribution(
            site=fl_ctx.get_peer_context().get_identity_name(),
            round=fl_ctx.get_prop(AppConstants.CURRENT_ROUND),
            return_code=code,
            model=fingerprint(weights),
            weight=None if steps is None else float(steps),
            distance=distance(global_weights(fl_ctx), weights) if weights else math.nan,
        )


def global_weights(fl_ctx: FLContext) -> dict[str, Any]:
    """Return the weights of the server's global model by name."""
    weights: dict[str, Any] = fl_ctx.get_prop(AppConstants.GLOBAL_MODEL)[ModelLearnableKey.WEIGHTS]
    return weights


def record_error(error: Exception, recorder: str = SERVER, site: str = "server") -> None:
    """Record an error of our own component, which must not end the run."""
    with suppress(OSError, KeyError):  # a full disk, or a server that no driver started
        frame = traceback.extract_tb(error.__traceback__)[-1]
        kind, place = type(error).__name__, f"{frame.filename}:{frame.lineno}"
        Evidence(recorder).exception(kind, str(error), place, site=site)
