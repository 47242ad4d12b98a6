"""Which process ran on what: each its own PID, told before it trained, on the device of its rank."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekindle.judge.run import Run
from rekindle.records.events import DeviceEvent, RoundEvent

from .registry import Doubt, rule, without_gpus

_DEVICE = re.compile(r"(?P<kind>cpu|cuda|/device:[CG]PU)(?::(?P<number>\d{1,6}))?")
"""As torch and TensorFlow call them: ``cuda:0``, ``cpu``, ``/device:GPU:0``."""
_PID_MAX = 1 << 22
"""Linux gives no higher one (proc(5), pid_max)."""


@rule(needs=(DeviceEvent,))
def processes_are_distinct(run: Run) -> Iterator[Doubt]:
    """No two sites share a process; a site's ranks are one each, TensorFlow's replicas one on each node."""
    owners: dict[tuple[str | None, int], str] = {}
    of_site: dict[str, set[tuple[str | None, int]]] = {}
    replicas = any(_is_replica(line.event) for line in run.of(DeviceEvent))
    for line in run.of(DeviceEvent):
        event = line.event
        if not 1 < event.pid <= _PID_MAX:
            yield Doubt(f"{event.who} has PID {event.pid}, which no process has.", line)
        process = (event.node if run.spec.nodes else None, event.pid)
        owner = owners.setdefault(process, event.site)
        if owner != event.site:
            yield Doubt(f"{event.site} and {owner} both ran in process {event.pid}.", line)
        of_site.setdefault(event.site, set()).add(process)
    for site in run.spec.sites:
        count = len(of_site.get(site.name, ()))
        if count not in {0, len(run.nodes) if replicas else site.ranks}:
            yield Doubt(f"{site.ranks} ranks of {site.name} ran in {count} processes.")


def _is_replica(event: DeviceEvent) -> bool:
    """Whether a rank is one of TensorFlow's replicas, which call their devices as it does."""
    return event.device.startswith("/")


@rule(needs=(DeviceEvent, RoundEvent))
def devices_told_before_training(run: Run) -> Iterator[Doubt]:
    """Every rank told its device before it began its first round."""
    for line in run.of(DeviceEvent):
        event = line.event
        rounds = run.rounds(event.site, event.rank)
        if rounds and event.time > rounds[0].event.time - rounds[0].event.seconds + 0.01:
            yield Doubt(f"{event.who} told its device after it began to train.", line)


@rule(needs=(DeviceEvent,))
def device_of_its_rank(run: Run) -> Iterator[Doubt]:
    """A rank's device has its local number: of its process, or of its replica where one process has all."""
    sizes = {site.name: site.ranks // len(run.nodes) or 1 for site in run.spec.sites}
    for line in run.of(DeviceEvent):
        event = line.event
        local = event.rank % sizes.get(event.site, event.rank + 1)
        if event.local_rank != (0 if _is_replica(event) else local):
            yield Doubt(f"{event.who} has the local rank {event.local_rank}.", line)
        device = _DEVICE.fullmatch(event.device)
        if device is None or ("cpu" in device["kind"].lower()) != (event.uuid is None):
            yield Doubt(f"{event.who} calls {event.uuid or 'a CPU'} {event.device!r}.", line)
        elif device["number"] != (None if event.device == "cpu" else str(local)):
            yield Doubt(f"{event.who} ran on the device {event.device}.", line)
        if event.uuid and event.name is None:
            yield Doubt(f"{event.who} reported no name of {event.uuid}.", line)
        if event.uuid is None and event.name is not None:
            yield Doubt(f"{event.who} reported no GPU and the name {event.name}.", line)


@rule(needs=(DeviceEvent,), exempt=without_gpus)
def device_names_agree(run: Run) -> Iterator[Doubt]:
    """A GPU has one name whoever tells it: that of preflight or, in runs of spec/1, that of all others.

    TensorFlow tells no name but ``GPU``.
    """
    names = {gpu.uuid: gpu.name for gpu in run.spec.gpus if gpu.name}
    lines = [line for line in run.of(DeviceEvent) if line.event.uuid]
    for line in lines:
        name, usual = line.event.name, names.get(line.event.uuid or "", lines[0].event.name)
        if name != usual and (name != "GPU" or not names):
            yield Doubt(f"{line.event.who} calls {line.event.uuid} {name}; it is {usual}.", line)
