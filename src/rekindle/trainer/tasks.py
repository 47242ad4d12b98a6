"""What NVFlare's server sends to sites and gets from them, task by task, whatever the workflow is.

For the server's process, which has NVFlare loaded already.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, FLMetaKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType

from .arrays import fingerprint, leaves, model
from .compared import figures
from .evidence import SERVER, Evidence
from .server import global_weights, record_error

_TRAINS = "train"


class TaskWitness(FLComponent):  # type: ignore[misc]  # NVFlare is untyped
    """Writes a TaskEvent for each result that the server gets, before any filter of the server's, a
    GlobalEvent for each model that a round ends with, and a ModelEvent for the first that it has trained.

    It keeps what was sent to a site until that site's result arrives, and the first result of a round, and
    changes nothing; an error in it is recorded and the run goes on.
    """

    def __init__(self) -> None:
        """Start before the first task."""
        super().__init__()
        self._sent: dict[str, Any] = {}
        self._first: tuple[Any, dict[str, Any]] = (None, {})
        self._names: frozenset[str] = frozenset()
        self._began = False

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Note what is sent, and record what returns."""
        try:
            if event_type == EventType.BEFORE_TASK_DATA_FILTER:
                self._sent[_site(fl_ctx)] = data = _data(fl_ctx.get_prop(FLContextKey.TASK_DATA))
                if not self._began and fl_ctx.get_prop(FLContextKey.TASK_NAME) == _TRAINS:
                    self._began = True
                    Evidence(SERVER).model("", **model(data))
            elif event_type == EventType.AFTER_TASK_DATA_FILTER:
                filtered = _data(fl_ctx.get_prop(FLContextKey.TASK_DATA))
                if next(leaves(filtered), None):  # none where a streamer has sent the tensors by itself
                    self._sent[_site(fl_ctx)] = filtered
            elif event_type == EventType.BEFORE_TASK_RESULT_FILTER:
                self._record_result(fl_ctx, fl_ctx.get_prop(FLContextKey.TASK_RESULT))
            elif event_type == AppEventType.AFTER_SHAREABLE_TO_LEARNABLE:
                self._record_aggregate(fl_ctx)
        except Exception as error:
            record_error(error)

    def _record_aggregate(self, fl_ctx: FLContext) -> None:
        """Record the aggregate of the parts of the model that sites sent in this round."""
        number = fl_ctx.get_prop(AppConstants.CURRENT_ROUND)
        if not self._names or not isinstance(number, int) or not fl_ctx.get_prop(AppConstants.GLOBAL_MODEL):
            return
        weights = dict(leaves(global_weights(fl_ctx)))
        if self._names <= weights.keys():
            aggregate = fingerprint({name: weights[name] for name in self._names})
            Evidence(SERVER).global_model(number + 1, aggregate)

    def _record_result(self, fl_ctx: FLContext, result: Shareable) -> None:
        site, got = _site(fl_ctx), _data(result)
        sent = dict(leaves(self._sent.pop(site, None)))
        dxo = result.get("DXO") or {}
        meta, kind = dxo.get("meta") or {}, dxo.get("kind") or ""
        kind = str(getattr(kind, "value", kind))
        number = result.get_header("current_round")
        task = str(fl_ctx.get_prop(FLContextKey.TASK_NAME))
        # Others count batches, or are the state of a random generator, and are not averaged.
        floating = (pair for pair in leaves(got) if not isinstance(pair[1], bytes))
        weights = {name: leaf for name, leaf in floating if "float" in str(leaf.dtype)}
        if self._first[0] != (task, number):
            self._first = ((task, number), {})
        compared = figures(sent, got, self._first[1], difference=kind == "WEIGHT_DIFF")
        if not self._first[1]:
            self._first = ((task, number), weights)
        if task == _TRAINS:
            self._names = frozenset(weights)
        steps = meta.get(FLMetaKey.NUM_STEPS_CURRENT_ROUND)
        all_sent = bool(weights) and weights.keys() <= sent.keys()
        Evidence(SERVER).write(
            "task",
            site=site,
            task=task,
            round=number if isinstance(number, int) else None,
            return_code=str(result.get_return_code()),
            kind=kind,
            **compared._asdict(),
            weight=None if steps is None else float(steps),
            names=_digest(weights),
            sketch=fingerprint(weights).sketch if weights else (),
            sent=fingerprint({name: sent[name] for name in weights}).sketch if all_sent else (),
            metrics=_metrics(meta.get("initial_metrics")),
        )


def _digest(weights: dict[str, Any]) -> str:
    names = "\0".join(f"{name} {tuple(leaf.shape)}" for name, leaf in sorted(weights.items()))
    return hashlib.sha256(names.encode()).hexdigest()


def _site(fl_ctx: FLContext) -> str:
    peer = fl_ctx.get_peer_context()
    return str(peer.get_identity_name()) if peer else ""


def _data(shareable: Shareable | None) -> Any:
    dxo = shareable.get("DXO") if shareable is not None else None
    return dxo.get("data") if isinstance(dxo, dict) else None


def _metrics(reported: Any) -> dict[str, float]:
    """Return the metrics that are numbers, whether of this process's own types or NumPy's."""
    found = {}
    for name, value in reported.items() if isinstance(reported, Mapping) else ():
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            found[str(name)] = float(number)
    return found
