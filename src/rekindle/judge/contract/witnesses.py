"""Who wrote the evidence: each file its own process, each once, and nobody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rekindle.host import folders
from rekindle.judge.run import Run
from rekindle.records.events import (
    ContributionEvent,
    DeviceEvent,
    Event,
    ExceptionEvent,
    FinalEvent,
    GlobalEvent,
    ModelEvent,
    RankEvent,
    RoundEvent,
    SampleEvent,
    TaskEvent,
    TrackingEvent,
)
from rekindle.records.evidence import Line

from .registry import ANY, Doubt, rule

_DIGITS = 8
"""Different ones among the 64 of a digest; fewer come by chance once in 10^17."""
_JOB = (FinalEvent, TrackingEvent, ExceptionEvent, ModelEvent)
_SERVER = (GlobalEvent, ContributionEvent, TaskEvent, ExceptionEvent, ModelEvent)


@rule(*ANY)
def nobody_raised(run: Run) -> Iterator[Doubt]:
    """No trainer wrote down an exception."""
    for line in run.of(ExceptionEvent):
        event = line.event
        yield Doubt(f"{event.who} raised {event.kind}: {event.message[:300]}", line, holds=False)


@rule(*ANY)
def everyone_writes_their_own(run: Run) -> Iterator[Doubt]:
    """Every line of evidence is of the site and rank whose file it stands in, and of nobody unknown."""
    files = {f"evidence/{site}.rank-{rank}.jsonl": (site, rank) for site, rank in run.ranks}
    own_server = folders.server_events(run.workspace.job)
    writers: dict[str, tuple[type[Event], ...]]
    writers = {f"{folders.EVIDENCE}/job.jsonl": _JOB, folders.SERVER_EVENTS: _SERVER, own_server: _SERVER}
    writers |= {folders.samples(node): (SampleEvent,) for node in run.nodes}
    for line in run.lines:
        event = line.event
        if line.file in files:
            own = isinstance(event, RankEvent) and (event.site, event.rank) == files[line.file]
        else:
            own = isinstance(event, writers.get(line.file, ()))
        if not own:
            yield Doubt(f"{line.file} has a line that its writer does not write.", line)
    sites = {site.name for site in run.spec.sites}
    results: list[Line[ContributionEvent] | Line[TaskEvent]] = [
        *run.of(ContributionEvent),
        *run.of(TaskEvent),
    ]
    for result in results:
        if result.event.site not in sites:
            yield Doubt(f"The server tells of a site {result.event.site!r} that the run has not.", result)


@rule(needs=(DeviceEvent,))
def nothing_told_twice(run: Run) -> Iterator[Doubt]:
    """Each rank tells its device once and each of the job's rounds once; job.py tells one final model."""
    rounds = range(run.spec.job.rounds)
    for site, rank in run.ranks:
        for line in run.rounds(site, rank):
            if line.event.round not in rounds:
                yield Doubt(f"{line.event.who} tells of round {line.event.round} of {len(rounds)}.", line)
    keys = [
        *(("device", line.event.site, line.event.rank) for line in run.of(DeviceEvent)),
        *(("round", line.event.site, line.event.rank, line.event.round) for line in run.of(RoundEvent)),
        *(("final",) for _ in run.of(FinalEvent)),
        *(("tracker", line.event.tracker) for line in run.of(TrackingEvent)),
        *(("global", line.event.round) for line in run.of(GlobalEvent)),
        *(("contribution", line.event.site, line.event.round) for line in run.of(ContributionEvent)),
    ]
    for key, count in Counter(keys).items():
        if count > 1:
            yield Doubt(f"The evidence tells {' '.join(map(str, key))} {count} times.")


@rule(*ANY)
def everything_is_read(run: Run) -> Iterator[Doubt]:
    """Every file is a regular one of bounded size, and every line of evidence an event."""
    for says in run.unread:
        yield Doubt(says)
    for file, number in run.broken:
        yield Doubt(f"Line {number} of {file} is not an event.", file)
    if run.ended and run.ended.reason == "finished" and run.ended.says is not None:
        yield Doubt("A run that finished by itself has a word on why it was ended.", folders.ENDED)


@rule(needs=(RoundEvent,))
def digests_look_like_digests(run: Run) -> Iterator[Doubt]:
    """No digest of weights is made of a few digits, as a made-up one may be."""
    for line in run.of(RoundEvent):
        if min(len(set(line.event.model_in)), len(set(line.event.model_out))) < _DIGITS:
            yield Doubt("A digest of weights is none that SHA-256 gives.", line)
    final = run.final
    if final and min(len(set(final.event.initial)), len(set(final.event.final))) < _DIGITS:
        yield Doubt("A digest of weights is none that SHA-256 gives.", final)


@rule(2, 3)
def all_of_this_run(run: Run) -> Iterator[Doubt]:
    """Every line of evidence, and the record of the run's end, repeat the nonce of its spec."""
    nonce = run.spec.nonce
    if not nonce:
        yield Doubt("The run's spec has no nonce, so nothing ties the evidence to it.", folders.SPEC)
    for line in run.lines:
        if line.event.nonce != nonce:
            yield Doubt("A line of evidence has another nonce than the run's spec.", line)
    if run.ended and run.ended.nonce != nonce:
        yield Doubt("The record of the run's end has another nonce than its spec.", folders.ENDED)


@rule(1)
def nothing_newer_than_its_spec(run: Run) -> Iterator[Doubt]:
    """A run whose spec is of the first version has none of the evidence that came with the second."""
    newer = "A run of spec/1 has evidence of spec/2."
    if run.spec.nonce or run.spec.gpus or (run.ended and run.ended.nonce is not None):
        yield Doubt(newer, folders.SPEC)
    for line in run.lines:
        event = line.event
        if (
            event.nonce is not None
            or isinstance(event, (GlobalEvent, ContributionEvent))
            or (isinstance(event, RoundEvent) and (event.sketch_in or event.sketch_out))
            or (isinstance(event, SampleEvent) and any(gpu.xids is not None for gpu in event.gpus.values()))
        ):
            yield Doubt(newer, line)


@rule(*ANY)
def spec_fits_itself(run: Run) -> Iterator[Doubt]:
    """The spec has as many sites as its job asks for, no more ranks, and one GPU per rank or none.

    On several nodes it has as many on each.
    """
    job, nodes = run.spec.job, run.spec.nodes
    if len(set(nodes)) < len(nodes) or (nodes and job.example):
        yield Doubt("The spec has a node twice, or an example on several nodes.", folders.SPEC)
    if len(run.spec.sites) != job.sites or len({site.name for site in run.spec.sites}) != job.sites:
        yield Doubt(f"The job asks for {job.sites} sites; the spec has {len(run.spec.sites)}.", folders.SPEC)
    for site in run.spec.sites:
        most, uneven = job.ranks_per_site * len(run.nodes), site.ranks % len(run.nodes)
        if not 0 < site.ranks <= most or uneven or len(site.gpus) not in {0, site.ranks}:
            says = f"{site.name} has {site.ranks} ranks and {len(site.gpus)} GPUs; the job asks for "
            where = f" on each of {len(nodes)} nodes" if nodes else ""
            yield Doubt(f"{says}{job.ranks_per_site}{where}.", folders.SPEC)
    code = job.code or job.name
    if run.version == 1 and run.workspace.members and run.workspace.job != code:  # others have a nonce
        yield Doubt(f"NVFlare's workspace is {run.workspace.job}, the spec is of {code}.", folders.SPEC)


@rule(2, 3)
def given_gpus_are_known(run: Run) -> Iterator[Doubt]:
    """The spec tells each GPU that it gives, once, with the memory that preflight saw."""
    given = sorted({uuid for site in run.spec.sites for uuid in site.gpus})
    if sorted(gpu.uuid for gpu in run.spec.gpus) != given:
        yield Doubt("The spec does not tell each GPU that it gives.", folders.SPEC)
    for gpu in run.spec.gpus:
        if gpu.memory_mib is not None and gpu.memory_mib < 1:
            yield Doubt(f"{gpu.uuid} has {gpu.memory_mib} MiB.", folders.SPEC)
