# SPDX-License-Identifier: Apache-2.0
"""For trainers that torchrun started: joining the group, and taking rank 0's values and weights."""

import os
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from rekindle.host.instances import is_instance

from .evidence import Evidence
from .gloo import wait_at_exit
from .ranks import LOCAL_RANK


def join_group(evidence: Evidence) -> torch.device:
    """Take this rank's own device, join the group over NCCL (GPU) or gloo (CPU), and record that.

    Objects always go over gloo, so that a rank that waits for NVFlare keeps no GPU busy.
    """
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", LOCAL_RANK) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group("cpu:gloo,cuda:nccl" if on_gpu else "gloo")
    wait_at_exit()
    properties = torch.cuda.get_device_properties(device) if on_gpu else None
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")  # a MIG instance is all that its process sees
    evidence.device(
        str(device),
        uuid=(visible if is_instance(visible) else f"GPU-{properties.uuid}") if properties else None,
        name=properties.name if properties else None,
        backend="nccl" if on_gpu else "gloo",
    )
    return device


def broadcast_value(value: Any) -> Any:
    """Return rank 0's ``value`` on every rank."""
    box = [value]
    dist.broadcast_object_list(box, src=0, device=torch.device("cpu"))
    return box[0]


def load_weights(weights: dict[str, Tensor], received: Any) -> None:
    """Overwrite ``weights`` in place, on every rank, with those of the FLModel that rank 0 received."""
    for name, tensor in weights.items():
        if received is not None:
            tensor.data.copy_(torch.as_tensor(received.params[name]))
        dist.broadcast(tensor.data, src=0)


def average_value(value: Tensor) -> float:
    """Return the mean of a scalar over all ranks."""
    dist.all_reduce(value, op=dist.ReduceOp.SUM)
    return float(value / dist.get_world_size())
