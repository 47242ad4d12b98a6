# SPDX-License-Identifier: Apache-2.0
"""The judgement on a run that measured its host, with what the driver saw of it meanwhile."""

from datetime import timedelta

from msgspec.structs import replace

from rekindle.acceptance import Judgement, evaluate_figures, judge_acceptance
from rekindle.records import (
    AcceptanceRecord,
    Clock,
    Measurement,
    RecordError,
    Timestamp,
    format_time,
    parse_time,
)
from rekindle.records.events import AcceptanceEvent

from .run import Run

_SOURCES = {"NVML": "NVML's events", "kernel": "the kernel's log"}


def judge_measurements(run: Run) -> AcceptanceRecord:
    """Return what ``run`` measured, compared with norms, with the GPU errors of the samples and its clock.

    Raises:
        RecordError: it left no such record, or that of another run, host or set of GPUs.
    """
    events = [line.event for line in run.find(AcceptanceEvent)]
    if len(events) != 1 or events[0].nonce != (run.spec.nonce or None):
        raise RecordError("The evidence has no figures of this run.", "read job.log, and measure again.")
    record, given = events[0].record, {uuid for site in run.spec.sites for uuid in site.gpus}
    if record.host != run.spec.host:
        raise RecordError(f"It measured {record.host}, and not {run.spec.host}.", "measure it again.")
    if {gpu.uuid for gpu in record.gpus} != given or len(record.gpus) != len(given):
        raise RecordError("It measured other GPUs than it was given.", "measure them again.")
    others = [
        measurement for measurement in record.measurements if measurement.name not in {"xids", "clock_offset"}
    ]
    seen = (
        *(_xids(run, gpu.uuid) for gpu in record.gpus),
        *((_offset(run.clocks.collected),) if run.clocks.collected else ()),
    )
    return evaluate_figures(
        replace(
            record,
            started=_started(record, run.clocks.collected),
            norms=run.spec.norms,
            measurements=(*others, *seen),
        )
    )


def describe_judgement(run: Run) -> Judgement:
    """Return the judgement on the host by the figures of ``run``.

    Raises:
        RecordError: as `judge_measurements` does.
    """
    return judge_acceptance(judge_measurements(run))


def _xids(run: Run, uuid: str) -> Measurement:
    looks = [line.event.gpus[uuid] for line in run.samples.of_gpu(uuid) if uuid in line.event.gpus]
    answered = [look.xids for look in looks if look.xids is not None]
    codes = [float(code) for codes in answered for code in codes]
    message = f"in {len(answered)} of {len(looks)} looks of the driver's sampler"
    if by := sorted({source for look in looks for source in look.xids_by}):
        message += f", by {' and '.join(_SOURCES.get(source, source) for source in by)}"
    value = float(len(codes)) if answered else None
    return Measurement(
        name="xids", gpu=uuid, value=value, unit="events", series=tuple(codes), message=message
    )


def _offset(clock: Clock) -> Measurement:
    """Return the smallest possible offset of the host's clock."""
    least = max(0.0, abs(clock.offset_s) - clock.error_s)
    message = f"it is {clock.offset_s:+.3f} s from the controller's, give or take {clock.error_s:.3f} s"
    return Measurement(name="clock_offset", value=least, unit="s", message=message)


def _started(record: AcceptanceRecord, clock: Clock | None) -> Timestamp:
    """Return when it began by the controller's clock: the host's may be wrong."""
    return format_time(parse_time(record.started) - timedelta(seconds=clock.offset_s if clock else 0.0))
