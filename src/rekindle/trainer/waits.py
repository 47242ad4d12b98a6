# SPDX-License-Identifier: Apache-2.0
"""Shortens NVFlare's waits between and after rounds, by its public settings.

Where the time of a short run goes is written in docs/time-outside-training.md.
"""

import os
from importlib import import_module
from typing import Any

_TASK_REQUEST_INTERVAL_S = 0.2
"""How long a client waits before it asks the server for the next task; NVFlare's own is 2 s."""


def job_of(recipe: Any) -> Any:
    """Return a recipe's FedJob, which is private since NVFlare 2.9."""
    return recipe.job if hasattr(recipe, "job") else recipe._job


def shorten_waits(recipe: Any, *, exchange_format: str = "") -> None:
    """Set what a job's recipe needs; call it before ``recipe.execute``.

    Args:
        recipe: of NVFlare's Recipe API.
        exchange_format: for a small model, NVFlare's name for what its trainers receive and send
            (``pytorch``, ``keras_layer_weights``). Its weights go as NumPy inside the message, clients load
            no framework, and ``PromptExecutor`` hands tasks over. Without (large models), weights are
            downloaded, and a trainer waits up to 5 s each round until its process checks whether they were.
            NVFlare 2.9 has another executor, which is left as it is.
    """
    recipe.add_server_config({"server": {"task_request_interval": _TASK_REQUEST_INTERVAL_S}})
    if exchange_format:
        os.environ.update(NVFLARE_NP_DOWNLOAD_CHUNK_SIZE="0", NVFLARE_TENSOR_DOWNLOAD_CHUNK_SIZE="0")
        try:
            import_module("nvflare.app_common.abstract.launcher")
        except ModuleNotFoundError:
            return
        executor = {
            "path": "rekindle.trainer.executor.PromptExecutor",
            "args": {"pipe_id": "pipe", "launcher_id": "launcher", "params_exchange_format": exchange_format},
        }
        recipe.add_client_config({"executors": [{"tasks": ["*"], "executor": executor}]})
