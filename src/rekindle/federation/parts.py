# SPDX-License-Identifier: Apache-2.0
"""A federation's run: what its hosts sent, as one run that is judged like any other.

results/<run>/federations/<job>/          the run: spec.json ended.json evidence/ samples-<host>.jsonl job/
results/<run>/federations/<job>/<host>/   what else that host sent: its spec, end, clock, logs and autopsy
results/<run>/federations/<job>.placed.json
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from itertools import chain, islice
from pathlib import Path

from msgspec.structs import replace

from rekindle.host import files, folders
from rekindle.judge import judge_run
from rekindle.records import (
    Clock,
    PlacedRecord,
    RecordError,
    RunEnd,
    RunSpec,
    Suspension,
    VerdictRecord,
    check_bounds,
    explain_unwritten,
    format_time,
    parse_time,
    read_record,
    write_record,
)
from rekindle.records.complaint import MissingError
from rekindle.records.layout import clock_in, ended_in, spec_in
from rekindle.records.text import shorten_text
from rekindle.results import seal, state
from rekindle.results.archive import replace_folder, unpack_archive
from rekindle.results.collection import merge_given, move_aside, write_clock
from rekindle.results.contents import locate_placed

from .placement import take_common

_PARTS = ".parts"
_REASONS = ("hung", "limit", "interrupted", "finished")
"""Of a run's end, the gravest first."""


def locate_part(results: Path, job: str, host: str) -> Path:
    """Return the folder for what a host sent of a run that is not yet joined."""
    return results / folders.FEDERATIONS / f"{job}{_PARTS}" / host


def locate_placed_part(home: Path, job: str) -> Path:
    """Return the path of the record of what was placed on a host of a federation's run."""
    return locate_placed(home / folders.PART, job)


def keep_part(archive: Path, dest: Path, clock: Clock | None) -> None:
    """Unpack what a host sent into ``dest``, with its clock.

    Raises:
        Complaint: the archive is damaged or not of a run.
    """
    unpack_archive(archive, dest, lambda folder: write_clock(folder, clock))


def join_parts(results: Path, job: str, hosts: list[str]) -> VerdictRecord:
    """Join what the hosts of a federation sent of a job, judge it here, and seal it.

    Args:
        results: results/<run>.
        job: its name.
        hosts: to which it was sent, the server's first.

    Raises:
        RecordError: nothing was sent to the server's host, or something cannot be written.
    """
    records = {host: read_record(locate_placed_part(results / host, job), PlacedRecord) for host in hosts}
    nonce = records[hosts[0]].spec.nonce  # another's are of an earlier run, in which that host took part
    placed = {host: record for host, record in records.items() if record.spec.nonce == nonce}
    sent = {host: record.spec for host, record in placed.items()}
    dest = results / folders.FEDERATIONS / job
    first = placed[hosts[0]]
    with explain_unwritten(dest, inside=True):
        with replace_folder(dest) as new:
            for host in placed:
                part = locate_part(results, job, host)
                if part.is_dir():
                    shutil.copytree(part, new / host, symlinks=True)
            sent = {host: _as_given(wanted, new / host) for host, wanted in sent.items()}
            spec = merge_specs(sent)
            for host in placed:
                if (new / host).is_dir():
                    _lay(new, host, spec)
            write_record(new / folders.SPEC, spec)
            (new / folders.JOB_LOG).touch(mode=0o600)  # of a server whose host sent nothing
            with suppress(RecordError):
                write_record(new / folders.ENDED, _ended(new, [*placed]))
            write_record(new / folders.CLOCK, Clock(offset_s=0.0, error_s=0.0, asked=format_time()))
            verdict = _judged(new, spec, sent)
            write_record(new / folders.VERDICT, verdict)
            move_aside(dest, spec.nonce)
        shutil.rmtree(locate_part(results, job, hosts[0]).parent, ignore_errors=True)
        seal.seal_run(dest)
    name, shared = take_common(first.spec, Path(first.payload).name)
    kept = state.note_verdict(name, replace(shared, nonce=spec.nonce), verdict.verdict, verdict.started)
    record = PlacedRecord(run=name, payload=first.payload, spec=spec, at=first.at, kept=kept)
    write_record(locate_placed(dest.parent, job), record)
    return verdict


def _as_given(sent: RunSpec, part: Path) -> RunSpec:
    """Return what a host was sent, with the GPUs that its allocation has there."""
    with suppress(RecordError):
        return merge_given(sent, spec_in(part))
    return sent


def merge_specs(sent: Mapping[str, RunSpec]) -> RunSpec:
    """Return the spec of the run of all hosts from what each was sent, the server's first."""
    first = next(iter(sent.values()))
    own = {site.name: site for spec in sent.values() for site in spec.own_sites}
    clocks = [spec.clock for spec in sent.values() if spec.clock]
    asked, error_s = min(clock.asked for clock in clocks), max(clock.error_s for clock in clocks)
    return replace(
        first,
        host=folders.FEDERATIONS,
        nodes=tuple(sent),
        sites=tuple(own.get(site.name, site) for site in first.sites),
        gpus=tuple(chain.from_iterable(spec.gpus for spec in sent.values())),
        clock=Clock(offset_s=0.0, error_s=error_s, asked=asked),
    )


def _lay(run: Path, host: str, spec: RunSpec) -> None:
    """Lay a host's evidence and logs where those of a run are: only its own, whatever it sent."""
    part, served = run / host, host == spec.nodes[0]
    for path in files.find_files(part, f"{folders.EVIDENCE}/*"):
        name = f"{folders.EVIDENCE}/{path.name}"
        ours = path.name.startswith(("server.", "job.")) if served else False
        if ours or (spec.host_of(name) == host and not served) or _is_nccl(path.name, host, spec):
            _move(path, run / name)
    if (part / folders.SAMPLES).is_file():
        _move(part / folders.SAMPLES, run / folders.name_samples(host))
    workspaces = part / folders.JOB / folders.WORKSPACE
    for site in (site.name for site in spec.sites if site.node == host):
        for path in sorted(workspaces.glob(f"*/{site}")):
            _move(path, run / path.relative_to(part))
    if served:
        for path in sorted(workspaces.glob("*/server")):
            _move(path, run / path.relative_to(part))
        for path in sorted((part / folders.JOB).glob("*")):
            if path.name != folders.WORKSPACE:
                _move(path, run / folders.JOB / path.name)
        if (part / folders.JOB_LOG).is_file():
            _move(part / folders.JOB_LOG, run / folders.JOB_LOG)


def _is_nccl(name: str, host: str, spec: RunSpec) -> bool:
    return any(site.node == host and name.startswith(f"{site.name}.nccl-") for site in spec.sites)


def _move(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.rename(target)


def _ended(run: Path, hosts: list[str]) -> RunEnd:
    """Return the end of the run of all hosts whose own fits it; `_altered` has why another's does not.

    Raises:
        RecordError: the server's host sent none.
    """
    fit, joined = hosts[:1], _joined(run, hosts[:1])
    for host in hosts[1:]:
        with suppress(RecordError):
            joined = _joined(run, [*fit, host])
            fit.append(host)
    return joined


_APART = timedelta(hours=1)
"""Before the server's start and after its end, in which a site's run starts and ends, at most."""


def _joined(run: Path, hosts: list[str]) -> RunEnd:
    """Return the end of these hosts' run, from the first start to the last end by the controller's clock.

    Raises:
        RecordError: one sent none, or theirs cannot be of one run.
    """
    ends = {host: ended_in(run / host) for host in hosts}
    starts = {host: parse_time(ended.started) - _offset(run / host) for host, ended in ends.items()}
    stops = {host: starts[host] + timedelta(seconds=ended.duration_s) for host, ended in ends.items()}
    server = hosts[0]
    for host, ended in ends.items():
        early = starts[server] - starts[host] - timedelta(seconds=ended.waited_s or 0)
        if max(early, stops[host] - stops[server]) > _APART or starts[host] > stops[server]:
            says = f"its run began at {ended.started} and took {ended.duration_s:.0f} s"
            raise RecordError(f"{says}, and the server's was at another time.")
    began, last = min(starts.values()), max(stops.values())
    worst = min(ends, key=lambda host: _REASONS.index(ends[host].reason))
    message = ends[worst].message
    waited = [ended.waited_s for ended in ends.values() if ended.waited_s is not None]
    suspensions = (replace(span, host=host) for host, ended in ends.items() for span in ended.suspensions)
    joined = replace(
        ends[hosts[0]],
        started=format_time(began),
        duration_s=round((last - began).total_seconds(), 2),
        reason=ends[worst].reason,
        message=shorten_text(f"{worst}: {message}") if message else None,
        waited_s=max(waited, default=None),
        suspensions=tuple(islice(suspensions, Suspension.MOST)),
    )
    return check_bounds(joined)


def _offset(part: Path) -> timedelta:
    with suppress(RecordError):
        return timedelta(seconds=clock_in(part).offset_s)
    return timedelta()


def _judged(run: Path, spec: RunSpec, sent: Mapping[str, RunSpec]) -> VerdictRecord:
    verdict, server = judge_run(run, spec), spec.nodes[0]
    if not (run / server).is_dir():
        cause = f"{server}, the federation's server, sent nothing: it was rebooted or lost in mid-job."
        remedy = "Run the same command again, which starts the job again."
        return replace(verdict, cause=cause, remedy=remedy, layer="host")
    if altered := next(_altered(run, spec, sent), None):
        return replace(verdict, verdict="UNPROVEN", cause=altered, remedy="Run it again (-e rerun=true).")
    return verdict


def _altered(run: Path, spec: RunSpec, sent: Mapping[str, RunSpec]) -> Iterator[str]:
    """Yield what is wrong with what a host sent: it ran something else, or a record is none."""
    server = spec.nodes[0]
    for host, wanted in sent.items():
        returned = None
        try:
            with suppress(MissingError):  # its absence shows in the evidence
                returned = spec_in(run / host)
            with suppress(MissingError):
                _joined(run, list(dict.fromkeys([server, host])))
        except RecordError as error:
            yield f"{host} sent no evidence that fits the run: {error.message.replace(f'{run}/', '')}"
        if returned is None:
            continue
        limit = replace(wanted.job, limit_s=returned.job.limit_s)
        if returned != replace(wanted, job=limit):
            yield f"{host} did not run what was sent: its spec.json differs."
        for name, digest in wanted.files.items() if host != server else ():
            path = run / host / folders.JOB / name
            if digest and (not path.is_file() or files.digest_file(path) != digest):
                yield f"{host} did not run what was sent: job/{name} there is not the file that was sent."
