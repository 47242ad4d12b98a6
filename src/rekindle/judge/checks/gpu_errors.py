# SPDX-License-Identifier: Apache-2.0
"""GPU errors in the driver's samples: Xids and uncorrected memory errors."""

from collections.abc import Iterator

from rekindle.gpus import xids
from rekindle.judge.check import Result, holds, register_check, skip_without_gpus, unknown
from rekindle.judge.run import Run
from rekindle.records.events import SampleEvent
from rekindle.records.evidence import EvidenceLine


@register_check(
    "federated",
    holds="No assigned GPU met an Xid error or an uncorrected one of its memory, from first to last sample.",
    unless=skip_without_gpus,
)
def no_gpu_errors(run: Run) -> Iterator[Result]:
    """A run with such an error proves nothing. A GPU without error counts (NVML reports no ECC) is named, and
    passes.
    """
    assigned = sorted({uuid for site in run.spec.sites for uuid in site.gpus})
    found = [
        result for look in (_errors, _lost, _unwatched) for uuid in assigned for result in look(run, uuid)
    ]
    if found:
        yield unknown(f"{'; '.join(dict.fromkeys(result.message for result in found))}.", found[0].at)
    else:
        message = f"No error of {len(assigned)} GPUs in {len(run.samples.lines)} samples"
        uncounted = [uuid for uuid in assigned if _counts(run, uuid)[0][0] is None]
        more = [f"{uuid} counts no memory errors (ECC)" for uuid in uncounted]
        yield holds(f"{'; '.join([message, *more])}.", run.samples.lines[-1])


def _errors(run: Run, uuid: str) -> list[Result]:
    seen: dict[int, Result] = {}
    for line in run.samples.of_gpu(uuid):
        for xid in _of(line.event, uuid) or ():
            seen.setdefault(xid, unknown(f"{uuid} had {xids.name_xid(xid)}", line))
    counts = _counts(run, uuid)
    for count, line in counts:
        if count != counts[0][0]:
            was, now = ("unknown" if errors is None else str(errors) for errors in (counts[0][0], count))
            message = f"{uuid}'s uncorrected memory errors (ECC) went from {was} to {now} in the run"
            return [*seen.values(), unknown(message, line)]
    return [*seen.values()]


def _counts(run: Run, uuid: str) -> list[tuple[int | None, EvidenceLine[SampleEvent]]]:
    return [
        (line.event.gpus[uuid].ecc_uncorrected, line)
        for line in run.samples.of_gpu(uuid)
        if uuid in line.event.gpus
    ]


def _lost(run: Run, uuid: str) -> list[Result]:
    last = next(iter(run.samples.of_gpu(uuid)[-1:]), None)
    if last is None or uuid in last.event.gpus:
        return []
    return [unknown(f"{uuid} did not answer NVML at the last sample", last)]


def _unwatched(run: Run, uuid: str) -> list[Result]:
    samples = run.samples.of_gpu(uuid)
    blind = [line for line in samples if _of(line.event, uuid) is None]
    if samples and not blind:
        return []
    how_long = "" if len(blind) == len(samples) else f" in {len(blind)} of {len(samples)} samples"
    return [unknown(f"Nobody watched {uuid} for Xid errors{how_long}", next(iter(blind), None))]


def _of(sample: SampleEvent, uuid: str) -> tuple[int, ...] | None:
    gpu = sample.gpus.get(uuid)
    return gpu.xids if gpu else sample.unanswered.get(uuid)
