# SPDX-License-Identifier: Apache-2.0
"""What NVFlare's server has of a message to or from a site."""

from typing import Any

from nvflare.apis.fl_context import FLContext
from nvflare.app_common.abstract.model import ModelLearnableKey
from nvflare.app_common.app_constant import AppConstants

TRAINS = "train"
"""The task of training."""


def read_dxo(shareable: Any) -> dict[str, Any]:
    """Return the data exchange object in a message, which has ``data``, ``kind`` and ``meta``; or nothing."""
    found = shareable.get("DXO") if shareable is not None else None
    return found if isinstance(found, dict) else {}


def read_dxo_data(of: dict[str, Any]) -> Any:
    """Return the data of a data exchange object; with what NVFlare's quantiser moved from them to meta."""
    state = (of.get("meta") or {}).get("quant_state")
    return {**of["data"], "quant_state": state} if state else of.get("data")


def read_dxo_kind(of: dict[str, Any]) -> str:
    """Return the kind of a data exchange object: ``WEIGHTS``, ``WEIGHT_DIFF``; empty without any."""
    found = of.get("kind") or ""
    return str(getattr(found, "value", found))


def read_global_weights(fl_ctx: FLContext) -> dict[str, Any]:
    """Return the weights of the server's global model by name."""
    weights: dict[str, Any] = fl_ctx.get_prop(AppConstants.GLOBAL_MODEL)[ModelLearnableKey.WEIGHTS]
    return weights


def read_peer(fl_ctx: FLContext) -> str:
    """Return the site that a message is to or from; empty if none is known."""
    peer = fl_ctx.get_peer_context()
    return str(peer.get_identity_name()) if peer else ""
