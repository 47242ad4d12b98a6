# SPDX-License-Identifier: Apache-2.0
"""Fleets as acceptance sees them, with the spread that real H200s have, and edits that break one host."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from msgspec.structs import replace

from rekindle.acceptance.catalogue import load_measures
from rekindle.records import AcceptanceRecord, AcceptedGpu, Kind, Measurement

MIB = 1 << 20
H200 = {
    "bf16_matmul": (791, 6.5),
    "tf32_matmul": (363, 3.0),
    "bf16_matmul_sustained": (690, 5.7),
    "fp16_matmul": (668, 5.5),
    "device_copy": (4225, 12.5),
    "host_to_device": (54, 0.5),
    "device_to_host": (54, 0.5),
    "peer_copy": (394.5, 1),
}
"""Middle and standard deviation: a quarter of the range that shared/facts/gpu-acceptance.md has of four GPUs,
or what stands in for one where that has none."""
FIXED = {
    **dict.fromkeys(("product_differs", "memory_errors", "ecc_uncorrected", "ecc_corrected_dram"), 0),
    **dict.fromkeys(("remap_pending", "remap_failed", "xids", "memory_in_use_before", "throttled"), 0),
    **dict.fromkeys(("utilisation_before", "nvlink_errors", "ecc_corrected_sram"), 0),
    "memory_tested": 95,
    "pcie_generation": 5,
    "pcie_width": 16,
    "nvlinks_up": 18,
}
TOGETHER = {(4, 128): 328, (4, 1024): 353, (2, 128): 283, (2, 1024): 329}
"""Bus bandwidth of an all-reduce, GB/s, by number of GPUs and MiB."""

Change = Callable[[Measurement], dict[str, Any]]


def kind(count: int = 8, model: str = "NVIDIA H200", **changes: Any) -> Kind:
    return Kind(
        **{
            "model": model,
            "count": count,
            "topology": "NV18" if count > 1 else "alone",
            "nvls": False,
            "driver": "580.159.04",
            **changes,
        }
    )


def accepted(
    host: str, of: Kind | None = None, seed: object = 0, started: str = "2026-11-22T10:00:00Z"
) -> AcceptanceRecord:
    """Return what a healthy host measured."""
    of = of or kind()
    random = Random(f"{host} {seed}")
    gpus = tuple(
        AcceptedGpu(index=n, uuid=f"GPU-{host}-{n}", serial=f"{host}/{n}", name=of.model)
        for n in range(of.count)
    )
    return AcceptanceRecord(
        host=host,
        mode="short",
        started=started,
        seconds=12.0,
        kind=of,
        gpus=gpus,
        measurements=tuple(_measured(gpus, of, random)),
    )


def _measured(gpus: tuple[AcceptedGpu, ...], of: Kind, random: Random) -> Iterator[Measurement]:
    for gpu in gpus:
        for name, (middle, deviation) in H200.items():
            if name == "peer_copy":
                for peer in gpus:
                    if peer is not gpu:
                        yield _of(name, random.gauss(middle, deviation), gpu=gpu.uuid, peer=peer.uuid)
            else:
                yield _of(name, random.gauss(middle, deviation), gpu=gpu.uuid)
        if of.count > 1:
            yield _of("collective_errors", 0, gpu=gpu.uuid, size=8)
        for name, value in FIXED.items():
            norm = value if name in {"pcie_generation", "pcie_width"} else None
            yield _of(name, value, gpu=gpu.uuid, norm=norm)
    if of.count > 1:
        for size in (128, 1024):
            rate = TOGETHER.get((of.count, size), 400) * random.gauss(1, 0.005)
            yield _of("all_reduce", rate, size=size * MIB)
    yield _of("fabric_manager", 1)
    yield _of("root_write", random.gauss(2000, 100))


def _of(name: str, value: float | None, **rest: Any) -> Measurement:
    return Measurement(name=name, value=value, unit=load_measures()[name].unit, message="", **rest)


def edited(
    record: AcceptanceRecord, name: str, change: Change, gpu: int | None = None, peer: int | None = None
) -> AcceptanceRecord:
    """Return the record with every measurement ``name`` changed; of one GPU, or one pair, if it is named."""
    uuid = f"GPU-{record.host}-{gpu}"
    other = f"GPU-{record.host}-{peer}"
    found = [
        measurement.name == name
        and (
            gpu is None
            or uuid == measurement.gpu
            or (measurement.peer is not None and uuid == measurement.peer)
        )
        and (peer is None or other in {measurement.gpu, measurement.peer})
        for measurement in record.measurements
    ]
    assert any(found)
    return replace(
        record,
        measurements=tuple(
            replace(measurement, **change(measurement)) if hit else measurement
            for measurement, hit in zip(record.measurements, found, strict=True)
        ),
    )


def times(factor: float) -> Change:
    return lambda measurement: {"value": (measurement.value or 0.0) * factor}


def value(number: float | None, **rest: Any) -> Change:
    return lambda _: {"value": number, **rest}
