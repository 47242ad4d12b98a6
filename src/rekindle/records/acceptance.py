# SPDX-License-Identifier: Apache-2.0
"""``acceptance.json``: what was measured of a host and its GPUs, and the norms of the figures."""

from typing import Annotated, Literal

from msgspec import Meta

from .action import Action
from .base import Few, Integer, Many, Number, Record, Seconds, Table, Text, Timestamp
from .host import GpuProcess

ACCEPTANCE = {"short": "acceptance", "burn": "acceptance-burn"}
"""The jobs that measure a host, by mode."""


class AcceptedGpu(Record, kw_only=True, frozen=True):
    """A GPU that was measured; measurements name it by its UUID."""

    index: Integer
    uuid: Text
    serial: Text | None = None
    name: Text
    pci_bus_id: Text | None = None


class Kind(Record, kw_only=True, frozen=True):
    """What hosts have in common whose figures, or norm, may be compared."""

    model: Text
    """Of all its GPUs; of several models, joined by `` + ``."""
    count: Integer
    topology: Text
    """The worst link between two of its GPUs, by ``nvidia-smi topo -m`` (``NV18``, ``SYS``), or ``alone``."""
    nvls: bool | None
    """Whether NCCL used NVLink SHARP; None: unknown."""
    driver: Text


class Condition(Record, kw_only=True, frozen=True):
    """What one GPU was like at one moment while it was measured."""

    seconds: Seconds
    """Since the measuring began."""
    gpu: Text
    sm_clock_mhz: Number | None = None
    power_w: Number | None = None
    temperature_c: Number | None = None
    throttle: Few[Text] = ()
    """Reasons that NVML names: ``sw_power_cap``, ``hw_slowdown``, ``hw_thermal_slowdown``, …"""


class GpuUse(Record, kw_only=True, frozen=True):
    """What others did on one GPU while the acceptance ran nothing there."""

    gpu: Text
    utilisation: Number | None = None
    pcie_received_mb_s: Number | None = None
    pcie_sent_mb_s: Number | None = None
    processes: Few[GpuProcess] = ()


class Look(Record, kw_only=True, frozen=True):
    """Who else used the GPUs and the host during one look."""

    seconds: Seconds
    """Since the measuring began."""
    load: Number
    """Processes of the host that ran or waited for a CPU, mean of the minute before."""
    cpus: Integer
    before: Few[GpuUse]
    after: Few[GpuUse]


class LaterLook(Record, kw_only=True, frozen=True):
    """The same figure in a later look."""

    value: Number
    holds: bool | None = None


class Measurement(Record, kw_only=True, frozen=True):
    """One figure, of a GPU, of a pair of GPUs, of all of them together, or of the host."""

    name: Text
    """``bf16_matmul``; ``acceptance/measurements.json`` describes each."""
    gpu: Text | None = None
    """UUID; None: of the host, or of all its GPUs together."""
    peer: Text | None = None
    """UUID of the other GPU, to which ``gpu`` sent."""
    size: Integer | None = None
    """Bytes of each message or buffer, where the figure is of one of several sizes."""
    value: Number | None
    """None: it could not be measured; ``message`` has the reason."""
    unit: Text
    series: Many[Number] = ()
    """The repetitions that ``value`` is the median of, in ``unit``."""
    norm: Number | None = None
    source: Text | None = None
    holds: bool | None = None
    """None: there is nothing to compare it with."""
    again: Annotated[tuple[LaterLook, ...], Meta(max_length=10)] = ()
    """In later looks, in their order; each is evaluated as ``value`` is."""
    message: Text


class Norm(Record, kw_only=True, frozen=True):
    """A figure that healthy GPUs or hosts reach, and which ones."""

    name: Text
    """Of the measurement."""
    value: Number
    margin: Annotated[float, Meta(ge=0, le=1)] = 0.0
    """Share of the value that may be missing, where the value was measured and is not a floor."""
    noted: Number | None = None
    """A figure worse than this is noted, and fails only by the value."""
    models: Few[Text] = ()
    """Names in ``gpus``; none: any."""
    count: Integer | None = None
    topologies: Few[Text] = ()
    nvls: bool | None = None
    sizes: tuple[Integer, Integer] | None = None
    """From and to, in bytes."""
    source: Text


class Norms(Record, kw_only=True, frozen=True):
    """``norms.json``: norms of models of GPUs."""

    schema: Literal["rekindle/norms/1"] = "rekindle/norms/1"
    gpus: Table[Few[Text]]
    """nvidia-smi's names of each model."""
    norms: Few[Norm]


class AcceptanceRecord(Record, kw_only=True, frozen=True):
    """The acceptance of one host."""

    schema: Literal["rekindle/acceptance/1"] = "rekindle/acceptance/1"
    host: Text
    mode: Literal["short", "burn"]
    started: Timestamp
    seconds: Seconds
    kind: Kind
    gpus: Few[AcceptedGpu]
    action: Action | None = None
    """The most severe that its findings ask for, comparisons with other hosts aside."""
    norms: Norms | None = None
    """The inventory's, which come before ours."""
    measurements: Many[Measurement]
    conditions: Many[Condition] = ()
    looks: Annotated[tuple[Look, ...], Meta(max_length=10)] = ()
    """The first, and the later ones, taken as a figure was worse than it should be."""
