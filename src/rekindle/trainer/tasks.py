"""What NVFlare's server sends to sites and gets from them, task by task, whatever the workflow is.

For the server's process, which has NVFlare loaded already.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable

from .arrays import array, leaves, model
from .evidence import SERVER, Evidence
from .server import tell_error

_PATH = f"{__name__}.TaskWitness"
_TRAINS = "train"


def added_to(config: dict[str, Any]) -> dict[str, Any]:
    """Return a server's configuration with a `TaskWitness` among its components."""
    component = {"id": "rekindle_task_witness", "path": _PATH, "args": {}}
    return {**config, "components": [*config.get("components", []), component]}


class TaskWitness(FLComponent):  # type: ignore[misc]  # NVFlare is untyped
    """Writes a TaskEvent for each result that the server gets, before any filter of the server's, and a
    ModelEvent for the first model that it has trained.

    It holds what was sent to a site until that site's result is there, and changes nothing; an error in it
    is written down and the run goes on.
    """

    def __init__(self) -> None:
        """Know of no task yet."""
        super().__init__()
        self._sent: dict[str, Any] = {}
        self._began = False

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Note what goes out, and write down what comes back."""
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
                self._tell(fl_ctx, fl_ctx.get_prop(FLContextKey.TASK_RESULT))
        except Exception as error:
            tell_error(error)

    def _tell(self, fl_ctx: FLContext, result: Shareable) -> None:
        site, got = _site(fl_ctx), _data(result)
        sent = dict(leaves(self._sent.pop(site, None)))
        dxo = result.get("DXO") or {}
        meta, kind = dxo.get("meta") or {}, dxo.get("kind") or ""
        number = result.get_header("current_round")
        Evidence(SERVER).task(
            site=site,
            task=str(fl_ctx.get_prop(FLContextKey.TASK_NAME)),
            round=number if isinstance(number, int) else None,
            return_code=str(result.get_return_code()),
            kind=str(getattr(kind, "value", kind)),
            **_figures(sent, got),
            metrics=_metrics(meta.get("initial_metrics")),
        )


def _site(fl_ctx: FLContext) -> str:
    peer = fl_ctx.get_peer_context()
    return str(peer.get_identity_name()) if peer else ""


def _data(shareable: Shareable | None) -> Any:
    dxo = shareable.get("DXO") if shareable is not None else None
    return dxo.get("data") if isinstance(dxo, dict) else None


def _figures(sent: Mapping[str, Any], data: Any) -> dict[str, Any]:
    """Return the figures of a result: numbers and bytes in it, and where there are any, their L2."""
    import numpy as np  # noqa: PLC0415 - the server of a job that exchanges none may have none

    values = size = 0
    squares, moved, compared = 0.0, 0.0, False
    for name, leaf in leaves(data):
        if isinstance(leaf, bytes):
            size += len(leaf)
            continue
        numbers = array(leaf)
        values, size = values + numbers.size, size + numbers.nbytes
        wide = numbers.astype(np.float64)
        squares += float(np.square(wide).sum())
        before = sent.get(name)
        if before is not None and not isinstance(before, bytes) and array(before).shape == numbers.shape:
            compared = True
            if not _only_rounded(numbers, array(before)):
                moved += float(np.square(wide - array(before)).sum())
    return {
        "values": values,
        "bytes": size,
        "finite": math.isfinite(squares) if values else None,
        "norm": math.sqrt(squares) if values else None,
        "moved": math.sqrt(moved) if compared else None,
    }


def _only_rounded(got: Any, sent: Any) -> bool:
    """Whether ``got`` is ``sent`` as a trainer has it in half precision or bfloat16, and no step further."""
    import numpy as np  # noqa: PLC0415 - as above

    got, single = got.ravel(), sent.ravel().astype(np.float32)
    with np.errstate(over="ignore"):
        half = single.astype(np.float16)
    bits = single.view(np.uint32)
    brain = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return bool((got == half).all() or (got == brain.view(np.float32)).all())


def _metrics(told: Any) -> dict[str, float]:
    """Return the metrics that are numbers, whether of this process's own types or NumPy's."""
    found = {}
    for name, value in told.items() if isinstance(told, Mapping) else ():
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            found[str(name)] = float(number)
    return found
