# SPDX-License-Identifier: Apache-2.0
"""What the GPUs are like while they are measured: clocks, power, temperature, and why they are slowed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from statistics import linear_regression
from typing import Any

from smi import number_of

_PERIOD_MS = 200
_FIELDS = "timestamp,uuid,clocks.sm,power.draw,temperature.gpu,pcie.link.gen.current,{}"
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""As nvidia-smi of today and of old has them."""
_BITS = {
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
"""NVML's; idle, application clocks and boost groups are no reason for concern."""
_MASK = re.compile("0x[0-9a-fA-F]{1,16}")
_LOADED = 0.5
"""Of the most power that a GPU took, from which on it counts as under load."""
_HARD = {"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}


@contextmanager
def sampled(folder: Path, uuids: list[str]) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Have nvidia-smi sample these GPUs into ``folder`` until the block ends; yields what reads them."""
    path, query = folder / "samples.csv", "--query-gpu=" + _FIELDS.format(_reasons())
    with path.open("wb") as stream:
        words = ["nvidia-smi", query, "--format=csv,noheader,nounits", "-lms", str(_PERIOD_MS)]
        process = subprocess.Popen(words, stdout=stream, stderr=subprocess.DEVNULL)
    try:
        yield lambda: parse(path.read_text(errors="replace"), uuids)
    finally:
        process.kill()
        process.wait()


def _reasons() -> str:
    for name in _REASONS:
        words = ["nvidia-smi", f"--query-gpu={name}", "--format=csv"]
        if subprocess.run(words, capture_output=True, timeout=30, check=False).returncode == 0:
            return name
    return "index"


def parse(lines: str, uuids: list[str]) -> list[dict[str, Any]]:
    """Return a Condition for each complete line that nvidia-smi printed of these GPUs."""
    conditions, first = [], None
    for line in lines.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) != 7 or words[1] not in uuids:
            continue
        try:
            at = datetime.strptime(words[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
        except ValueError:
            continue
        first = at if first is None else first
        mask = int(words[6], 16) if _MASK.fullmatch(words[6]) else 0
        conditions.append(
            {
                "seconds": round(at - first, 3),
                "gpu": words[1],
                "sm_clock_mhz": number_of(words[2]),
                "power_w": number_of(words[3]),
                "temperature_c": number_of(words[4]),
                "pcie_generation": number_of(words[5]),
                "throttle": [name for bit, name in _BITS.items() if mask & bit],
            }
        )
    return conditions


def measurements(conditions: list[dict[str, Any]], uuids: list[str], burn: bool) -> list[dict[str, Any]]:
    """Return each GPU's share of samples in which its hardware slowed it, and what became of it in a burn."""
    figures = []
    for uuid in uuids:
        samples = [condition for condition in conditions if condition["gpu"] == uuid]
        slowed = [sample for sample in samples if _HARD & set(sample["throttle"])]
        share = 100.0 * len(slowed) / len(samples) if samples else None
        message = f"in {len(slowed)} of {len(samples)} samples"
        figures.append({"name": "throttled", "gpu": uuid, "value": share, "unit": "%", "message": message})
        if burn:
            figures += _slopes(uuid, samples)
        if burn and slowed:
            at, why = slowed[0]["seconds"], " and ".join(slowed[0]["throttle"])
            figure = {"value": at, "unit": "s", "message": f"first {why}"}
            figures.append({"name": "time_to_throttle", "gpu": uuid, **figure})
    return figures


def _slopes(uuid: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fit lines through the second half of the load, when a GPU is as warm as it gets."""
    most = max((sample["power_w"] or 0.0 for sample in samples), default=0.0)
    loaded = [sample for sample in samples if (sample["power_w"] or 0.0) >= _LOADED * most]
    later = loaded[len(loaded) // 2 :]
    figures = []
    for name, field, unit in (
        ("clock_slope", "sm_clock_mhz", "%/min"),
        ("temperature_slope", "temperature_c", "K/min"),
    ):
        points = [(sample["seconds"] / 60, sample[field]) for sample in later if sample[field] is not None]
        value = None
        if len({x for x, _ in points}) > 1:
            fit = linear_regression(*zip(*points, strict=True))
            middle = fit.intercept + fit.slope * points[len(points) // 2][0]
            value = 100 * fit.slope / middle if unit == "%/min" and middle else fit.slope
        message = f"over {len(points)} samples of the load's second half"
        figures.append({"name": name, "gpu": uuid, "value": value, "unit": unit, "message": message})
    return figures
