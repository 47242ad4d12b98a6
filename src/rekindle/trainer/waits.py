"""What NVFlare 2.7 waits for between and after rounds, cut as far as its public settings go.

Where the time of a short run goes is written in docs/time-outside-training.md.
"""

from __future__ import annotations

import os
from typing import Any

_TASK_REQUEST_INTERVAL_S = 0.2
"""How long a client waits before it asks the server for the next task; NVFlare's own is 2 s."""


def shorten_waits(recipe: Any, *, small_model: bool) -> None:
    """Set what a job's recipe needs; call it before ``recipe.execute``.

    Args:
        recipe: of NVFlare's Recipe API.
        small_model: weights go inside the message. As objects to download (the default, for large models) a
            trainer waits up to 5 s each round until its process looks whether the server has them.
    """
    recipe.add_server_config({"server": {"task_request_interval": _TASK_REQUEST_INTERVAL_S}})
    if small_model:
        os.environ.update(NVFLARE_NP_DOWNLOAD_CHUNK_SIZE="0", NVFLARE_TENSOR_DOWNLOAD_CHUNK_SIZE="0")
