# SPDX-License-Identifier: Apache-2.0
"""A torch model's weights: their size, and those that NVFlare's server saved."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def measure_weights(weights: dict[str, Any]) -> int:
    """Return the bytes of weights, tensors or arrays."""
    return sum(int(value.nbytes) for value in weights.values())


def read_global_model(job: str) -> dict[str, Tensor]:
    """Return the weights of the last global model that NVFlare's server saved, on CPU.

    Raises:
        SystemExit: it saved none.
    """
    path = Path("workspace", job, "server/simulate_job/app_server/FL_global_model.pt")
    if not path.exists():
        raise SystemExit(f"NVFlare left no global model at {path}: the cause is in the sites' logs.")
    saved = torch.load(path, map_location="cpu", weights_only=True)
    return {name: torch.as_tensor(value) for name, value in saved.get("model", saved).items()}
