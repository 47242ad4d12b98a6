"""A torch model's weights as evidence: which they are, and how far they came."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def digest(weights: dict[str, Tensor]) -> str:
    """Return the SHA-256 of the weights' names and bytes, the same on CPU and GPU."""
    total = hashlib.sha256()
    for name in sorted(weights):
        total.update(name.encode())
        total.update(weights[name].detach().cpu().flatten().contiguous().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def distance(first: dict[str, Tensor], last: dict[str, Tensor]) -> float:
    """Return the L2 distance between two sets of weights of the same names and shapes."""
    squares = ((last[name].float() - first[name].float()).square().sum() for name in first)
    return float(sum(squares) ** 0.5)


def change(first: dict[str, Tensor], last: dict[str, Tensor]) -> dict[str, Any]:
    """Return what ``Evidence.final`` says of two global models: their digests and their distance."""
    return {"initial": digest(first), "final": digest(last), "distance": distance(first, last)}


def size_of(weights: dict[str, Any]) -> int:
    """Return the bytes of weights, tensors or arrays."""
    return sum(int(value.nbytes) for value in weights.values())


def global_model(job: str) -> dict[str, Tensor]:
    """Return the weights of the last global model that NVFlare's server saved, on CPU.

    Raises:
        SystemExit: it saved none.
    """
    path = Path("workspace", job, "server/simulate_job/app_server/FL_global_model.pt")
    if not path.exists():
        raise SystemExit(f"NVFlare left no global model at {path}: the cause is in the sites' logs.")
    saved = torch.load(path, map_location="cpu", weights_only=True)
    return {name: torch.as_tensor(value) for name, value in saved.get("model", saved).items()}
