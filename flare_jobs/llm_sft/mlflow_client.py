"""MLflow at a client itself."""

from __future__ import annotations

from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_opt.tracking.mlflow.mlflow_receiver import MLflowReceiver


class ClientMLflow(MLflowReceiver):
    """NVFlare's receiver, told whose values these are.

    What an external trainer logs reaches its client as an event of the federation, which has no origin there
    (2.7.3): the receiver drops it with ``record_origin can't be None``.
    """

    def _get_record_origin(self, fl_ctx: FLContext, data: Shareable) -> str:
        return fl_ctx.get_identity_name()
