# SPDX-License-Identifier: Apache-2.0
"""What NVFlare's server sends to sites and gets from them, task by task, whatever the workflow is.

For the server's process, which has NVFlare loaded already.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey, FLMetaKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType

from .arrays import select_floating, sketch_model, sketch_weights, walk_leaves
from .comparison import compare_result
from .correlation import correlate_models
from .evidence import Evidence, name_server, record_error
from .exchange import TRAINS, read_dxo, read_dxo_data, read_dxo_kind, read_global_weights, read_peer

_CONTROLS = "scaffold_c_diff"
"""Where a site's result has the change of its controls, in NVFlare's SCAFFOLD."""


class TaskWitness(FLComponent):  # type: ignore[misc]  # NVFlare is untyped
    """Writes a TaskEvent for each result that the server gets, before any filter of the server's, a
    GlobalEvent for each model that a round ends with, and a ModelEvent for the first that it has trained.
    A result of integers alone may be quantised: its TaskEvent comes after the filters, which may undo that.

    It keeps what was sent to a site until that site's result arrives, and the first result of a round, and
    changes nothing; an error in it is recorded and the run goes on.
    """

    def __init__(self, components: Mapping[str, Any]) -> None:
        """Start before the first task, among the components of the process, by their ids."""
        super().__init__()
        self._components = components
        self._recorder = name_server()
        self._sent: dict[str, Any] = {}
        self._rounds: dict[str, Any] = {}
        self._first: tuple[Any, dict[str, Any]] = (None, {})
        self._names: frozenset[str] = frozenset()
        self._began = False
        self._coded: set[str] = set()

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Note what is sent, and record what returns."""
        try:
            if event_type == EventType.BEFORE_TASK_DATA_FILTER:
                task = fl_ctx.get_prop(FLContextKey.TASK_DATA)
                self._sent[read_peer(fl_ctx)] = data = read_dxo(task).get("data")
                self._rounds[read_peer(fl_ctx)] = task.get_header(AppConstants.CURRENT_ROUND)
                if not self._began and fl_ctx.get_prop(FLContextKey.TASK_NAME) == TRAINS:
                    self._began = True
                    Evidence(self._recorder).model("", **sketch_model(data))
            elif event_type == EventType.AFTER_TASK_DATA_FILTER:
                filtered = read_dxo_data(read_dxo(fl_ctx.get_prop(FLContextKey.TASK_DATA)))
                if next(walk_leaves(filtered), None):  # none where a streamer has sent the tensors by itself
                    self._sent[read_peer(fl_ctx)] = filtered
            elif event_type == EventType.BEFORE_TASK_RESULT_FILTER:
                if _is_coded(fl_ctx):
                    self._coded.add(read_peer(fl_ctx))
                else:
                    self._take(fl_ctx)
            elif event_type == EventType.AFTER_TASK_RESULT_FILTER and read_peer(fl_ctx) in self._coded:
                self._coded.remove(read_peer(fl_ctx))
                self._take(fl_ctx)
            elif event_type == AppEventType.AFTER_SHAREABLE_TO_LEARNABLE:
                self._record_aggregate(fl_ctx)
        except Exception as error:
            record_error(error)

    def _take(self, fl_ctx: FLContext) -> None:
        task, result = str(fl_ctx.get_prop(FLContextKey.TASK_NAME)), fl_ctx.get_prop(FLContextKey.TASK_RESULT)
        self._record_result(read_peer(fl_ctx), task, result, _workflow(fl_ctx))

    def _record_aggregate(self, fl_ctx: FLContext) -> None:
        """Record the aggregate of the parts of the model that sites sent in this round."""
        number = fl_ctx.get_prop(AppConstants.CURRENT_ROUND)
        if not self._names or not isinstance(number, int) or not fl_ctx.get_prop(AppConstants.GLOBAL_MODEL):
            return
        weights = dict(walk_leaves(read_global_weights(fl_ctx)))
        if self._names <= weights.keys():
            aggregate = sketch_weights({name: weights[name] for name in self._names})
            Evidence(self._recorder).global_model(number + 1, aggregate, None, _workflow(fl_ctx))

    @cached_property
    def _buffers(self) -> frozenset[str]:
        """Of the models, which are built by the time that the first result comes."""
        return find_buffers(self._components.values())

    def _averaged(self, tree: Any) -> dict[str, Any]:
        """Return the numbers of a result that its sketch covers."""
        return select_floating(tree)

    def _record_result(self, sender: str, task: str, result: Shareable, workflow: str = "") -> None:
        exchanged = read_dxo(result)
        got = read_dxo_data(exchanged)
        sent = dict(walk_leaves(self._sent.pop(sender, None)))
        meta, of = exchanged.get("meta") or {}, read_dxo_kind(exchanged)
        metrics = _metrics(meta.get("initial_metrics"))
        if metrics and not sent and not next(walk_leaves(got), None):  # NVFlare sends them as empty weights
            got, of = metrics, "METRICS"
        if of == "METRICS" and isinstance(got, dict):  # of a site without a class, one may be undefined
            metrics = _metrics(got)
            got = {name: value for name, value in metrics.items() if math.isfinite(value)}
        number = self._rounds.pop(sender, None)  # an executor of a user's own may not send it back
        if not isinstance(number, int):
            number = result.get_header(AppConstants.CURRENT_ROUND)
        weights = self._averaged(got)
        if shared := weights.keys() & sent.keys():  # without what a site adds, as k-means its counts
            weights = {name: weights[name] for name in shared}
        follows = None
        if self._first[0] != (task, number):
            if of == "WEIGHTS" and isinstance(number, int) and self._first[0] == (task, number - 1):
                follows = correlate_models(sent, self._first[1])
            self._first = ((task, number), {})
        difference = of == "WEIGHT_DIFF"
        compared = compare_result(sent, got, self._first[1], self._buffers, difference=difference)
        if not self._first[1]:
            self._first = ((task, number), weights)
        self._names = frozenset(weights)
        steps = meta.get(FLMetaKey.NUM_STEPS_CURRENT_ROUND)
        Evidence(self._recorder).write(
            "task",
            site=sender,
            task=task,
            workflow=workflow,
            round=number if isinstance(number, int) else None,
            return_code=str(result.get_return_code()),
            kind=of,
            **compared._asdict(),
            follows=follows,
            controls=sketch_model(controls)["norm"] if (controls := meta.get(_CONTROLS)) else None,
            weight=None if steps is None else float(steps),
            names=digest_names(weights),
            sketch=sketch_weights(weights) if weights else (),
            sent=sketch_weights({name: sent[name] for name in shared}) if shared else (),
            metrics=metrics,
        )


def find_buffers(components: Iterable[Any]) -> frozenset[str]:
    """Return the names of the buffers of components' models: no weights, where a model has some to train."""
    trained, buffers = set[str](), set[str]()
    models: Iterable[Any] = (getattr(one, "model", None) for one in components)
    for model in models:
        if hasattr(model, "named_buffers"):
            parameters = {name for name, one in model.named_parameters() if one.requires_grad}
            trained |= parameters
            buffers |= {name for name, _ in model.named_buffers() if parameters}
    return frozenset(buffers - trained)


def _is_coded(fl_ctx: FLContext) -> bool:
    """Whether the numbers in a result are integers alone."""
    data = read_dxo_data(read_dxo(fl_ctx.get_prop(FLContextKey.TASK_RESULT)))
    return any(True for _ in walk_leaves(data)) and not select_floating(data)


def _workflow(fl_ctx: FLContext) -> str:
    """Return the id of the workflow that goes on at the server."""
    return str(fl_ctx.get_prop(FLContextKey.WORKFLOW) or "")


def digest_names(weights: dict[str, Any]) -> str:
    """Return the digest of the names and shapes of weights."""
    names = "\0".join(f"{name} {tuple(leaf.shape)}" for name, leaf in sorted(weights.items()))
    return hashlib.sha256(names.encode()).hexdigest()


def _metrics(reported: Any) -> dict[str, float]:
    """Return the metrics that are numbers, whether of this process's own types or NumPy's."""
    found = {}
    for name, value in reported.items() if isinstance(reported, Mapping) else ():
        number = value.item() if hasattr(value, "item") and math.prod(value.shape) == 1 else value
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            found[str(name)] = float(number)
    return found
