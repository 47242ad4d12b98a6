# SPDX-License-Identifier: Apache-2.0
"""MLflow at a client itself."""

from __future__ import annotations

from pathlib import Path

from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.app_opt.tracking.mlflow.mlflow_receiver import MLflowReceiver


class ClientMLflow(MLflowReceiver):
    """NVFlare's receiver, with the site of the values, which writes a folder of files.

    What an external trainer logs reaches its client as an event of the federation, which has no origin there
    (2.7.3): the receiver drops it with ``record_origin can't be None``. Since 2.9 it writes SQLite, for which
    mlflow-skinny lacks alembic.
    """

    def _get_tracking_uri(self, fl_ctx: FLContext) -> str:
        return Path(fl_ctx.get_workspace().get_result_root(fl_ctx.get_job_id()), "mlflow").absolute().as_uri()

    def _get_record_origin(self, fl_ctx: FLContext, data: Shareable) -> str:
        return fl_ctx.get_identity_name()
