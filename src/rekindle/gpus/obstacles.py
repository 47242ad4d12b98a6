# SPDX-License-Identifier: Apache-2.0
"""What a GPU is set to, or waits for, that keeps CUDA from starting: fields of nvidia-smi's XML."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rekindle.records import Complaint, Gpu
from rekindle.records.action import Action
from rekindle.records.complaint import ANOTHER


class Obstacle(NamedTuple):
    """A value of a field, what it means and the way out."""

    field: str
    """Path in the XML, below ``gpu``."""
    values: str
    """Pattern of the whole value, in any case."""
    message: str
    """One sentence; ``{gpu}`` and ``{value}`` go in."""
    fix: str
    action: Action
    refuses: bool = True
    """Whether no job can run on it; else it is a warning."""
    only: tuple[str, str] | None = None
    """Another field, and the pattern that its value must match."""
    other: str | None = None
    """Another field, whose value must differ."""
    missing: str = ""
    """Stands for the value of a field that is not there; empty: that is no obstacle."""


_MODE = "gpu_virtualization_mode/virtualization_mode"
_RESET = f"reset it (nvidia-smi --gpu-reset -i {{index}}, as root) or restart the host, or {ANOTHER}."
_FABRIC = f"see on the host that nvidia-fabricmanager runs and what it logs, or {ANOTHER}."
_CHECK = f"have the host's NVLink and switches checked, or {ANOTHER} one."
_MODES = "set it to Default (nvidia-smi -i {index} -c 0, as root)."

OBSTACLES = (
    Obstacle(
        "compute_mode",
        "Prohibited",
        "{gpu} is in compute mode {value}, in which no process may use it.",
        _MODES,
        "DRAIN",
    ),
    Obstacle(
        "compute_mode",
        "Exclusive.*",
        "{gpu} is in compute mode {value}: a second process on it fails, so no two ranks can share it.",
        _MODES,
        "NONE",
        refuses=False,
    ),
    Obstacle(
        "fabric/state",
        "In ?Progress",
        "{gpu} has not joined the NVSwitch fabric ({value}), and CUDA does not start before (error 802).",
        f"wait a minute and run preflight again; if it stays, {_FABRIC}",
        "RETEST",
    ),
    Obstacle(
        "fabric/state",
        "Not Started",
        "{gpu} has not begun to join the NVSwitch fabric, and CUDA does not start before (error 802).",
        _FABRIC,
        "DRAIN",
    ),
    Obstacle(
        "fabric/status",
        "(?!Success).*",
        "{gpu} could not join the NVSwitch fabric: {value}.",
        _FABRIC,
        "DRAIN",
        only=("fabric/state", "Completed"),
    ),
    Obstacle(
        "fabric/health/summary", "Unhealthy", "{gpu} has an unhealthy NVSwitch fabric.", _CHECK, "DRAIN"
    ),
    Obstacle(
        "fabric/health/route_unhealthy",
        "True|Yes",
        "{gpu} has a route of its fabric that fails.",
        _CHECK,
        "DRAIN",
    ),
    Obstacle(
        "fabric/health/route_recovery_in_progress",
        "True|Yes",
        "{gpu} waits until a route of its fabric has recovered.",
        f"wait a minute and run preflight again; if it stays, {_CHECK}",
        "RETEST",
    ),
    Obstacle(
        "fabric/health/access_timeout_recovery",
        "True|Yes",
        "{gpu} waits until its fabric has recovered from a timeout.",
        f"wait a minute and run preflight again; if it stays, {_CHECK}",
        "RETEST",
    ),
    Obstacle(
        "fabric/health/incorrect_configuration",
        "(?!False|No).*",
        "{gpu} has a fabric that is configured wrongly: {value}.",
        _FABRIC,
        "DRAIN",
    ),
    Obstacle(
        "fabric/health/bandwidth",
        "Degraded",
        "{gpu} has less bandwidth to the fabric than it should.",
        _CHECK,
        "DRAIN",
        refuses=False,
    ),
    Obstacle(
        "fabric/health/summary",
        "Limited Capacity",
        "{gpu} has a fabric of limited capacity.",
        _CHECK,
        "DRAIN",
        refuses=False,
    ),
    Obstacle(
        "vgpu_software_licensed_product/license_status",
        "(?!Licensed).*",
        "{gpu} is a vGPU without a licence ({value}): its driver slows CUDA down and then stops it.",
        f"have the owner of the host license it (nvidia-gridd and its token), or {ANOTHER} one.",
        "DRAIN",
        only=(_MODE, "VGPU"),
        missing="none is shown",
    ),
    Obstacle(
        _MODE,
        "Host V(GPU|SGA)",
        "{gpu} is lent to virtual machines ({value}), and the driver for that runs no CUDA.",
        f"use a virtual machine there, or {ANOTHER} host.",
        "DRAIN",
    ),
    Obstacle("gpu_reset_status/reset_required", "Yes", "{gpu} needs a reset.", _RESET, "RESET_GPU"),
    Obstacle(
        "gpu_reset_status/drain_and_reset_recommended",
        "Yes",
        "{gpu} needs a reset as soon as nothing runs on it.",
        _RESET,
        "RESET_GPU",
    ),
    *(
        Obstacle(
            f"retired_pages/{name}",
            "Yes",
            "{gpu} waits for the retirement of a memory page.",
            _RESET,
            "RESET_GPU",
        )
        for name in ("pending_retirement", "pending_blacklist")
    ),
    Obstacle(
        "ecc_errors/channel_repair_pending",
        "Yes",
        "{gpu} waits for the repair of its memory.",
        _RESET,
        "RESET_GPU",
    ),
    Obstacle(
        "ecc_errors/tpc_repair_pending", "Yes", "{gpu} waits for the repair of a TPC.", _RESET, "RESET_GPU"
    ),
    Obstacle(
        "ecc_errors/unrepairable_memory",
        "Yes",
        "{gpu} has memory that cannot be repaired.",
        f"{ANOTHER} host, as this GPU has to be replaced.",
        "REPLACE",
    ),
    Obstacle(
        "ecc_errors/aggregate/sram_threshold_exceeded",
        "Yes",
        "{gpu} has had more uncorrected errors of its SRAM than NVIDIA allows.",
        f"have it tested by its owner, or {ANOTHER} host.",
        "DRAIN",
        refuses=False,
    ),
    Obstacle(
        "mig_mode/pending_mig",
        ".*",
        "{gpu} has MIG mode {value} from its next reset.",
        _RESET,
        "NONE",
        refuses=False,
        other="mig_mode/current_mig",
    ),
    Obstacle(
        "ecc_mode/pending_ecc",
        ".*",
        "{gpu} has ECC {value} from its next reset.",
        _RESET,
        "NONE",
        refuses=False,
        other="ecc_mode/current_ecc",
    ),
)
"""The first of a field, or of a group of fields, is told."""

FIELDS = tuple(
    dict.fromkeys(
        field
        for obstacle in OBSTACLES
        for field in (obstacle.field, obstacle.only and obstacle.only[0], obstacle.other)
        if field
    )
)
"""What of the XML is kept of a GPU."""


def find_obstacles(gpu: Gpu, name: str, *, refuses: bool) -> Iterator[Complaint]:
    """Yield what keeps jobs from the GPU ``name``, or, if not ``refuses``, what to warn of."""
    told = set()
    for obstacle in OBSTACLES:
        value, group = gpu.states.get(obstacle.field, obstacle.missing), obstacle.field.partition("/")[0]
        if not value or group in told or not _is_like(obstacle.values, value):
            continue
        if obstacle.only and not _is_like(obstacle.only[1], gpu.states.get(obstacle.only[0], "")):
            continue
        if obstacle.other and gpu.states.get(obstacle.other, value) == value:
            continue
        told.add(group)
        if obstacle.refuses is refuses:
            message = obstacle.message.format(gpu=name, value=value)
            yield Complaint(message, obstacle.fix.format(index=gpu.index), obstacle.action)


def _is_like(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value, re.IGNORECASE) is not None
