# SPDX-License-Identifier: Apache-2.0
"""A run that was collected: judged here, by what was sent from here, and sealed.

results/<run>/<host>/<job>/verdict.json
results/<run>/<host>/<job>.placed.json
results/<run>/<host>/earlier/<job>-<number>/
"""

from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from rekindle.acceptance import judge_acceptance
from rekindle.host import files, folders
from rekindle.jobs import make_verdict
from rekindle.judge import judge_run
from rekindle.judge.measurements import judge_measurements
from rekindle.judge.opener import open_run
from rekindle.records import (
    Clock,
    PlacedRecord,
    RecordError,
    RunSpec,
    VerdictRecord,
    explain_unwritten,
    format_time,
    read_record,
    write_record,
)
from rekindle.records.base import read_valid
from rekindle.records.complaint import MissingError
from rekindle.records.layout import spec_in, verdict_in

from . import seal, state
from .archive import unpack_archive
from .contents import locate_placed

_RUN_AGAIN = "Run it again (-e rerun=true), with nobody else at that host."


def judge_received(folder: Path, sent: RunSpec) -> VerdictRecord:
    """Judge the files of a run by the spec that was ``sent``; another run is UNPROVEN."""
    try:
        returned = spec_in(folder)
        # A lease's end shortens the limit of what another playbook may have started with more time.
        spec = merge_given(replace(sent, job=replace(sent.job, limit_s=returned.job.limit_s)), returned)
        verdict = judge_run(folder, spec)
    except RecordError as error:
        cause = f"The host's files are not a run of {sent.job.name}: {error.message}"
        cause = cause.replace(f"{folder}/", "")
        verdict = make_verdict(sent.job, sent.host, "UNPROVEN", cause, _RUN_AGAIN)
        return replace(verdict, nonce=sent.nonce)
    if returned == spec:
        return verdict
    return replace(verdict, verdict="UNPROVEN", cause=_difference(spec, returned), remedy=_RUN_AGAIN)


def judge_again(folder: Path, spec: RunSpec | None = None) -> VerdictRecord:
    """Judge a run in ``folder`` by the spec that was sent, if that is recorded beside it, else by ``spec``.

    Raises:
        RecordError: there is no run, what was sent cannot be read, or its results folder has no such run.
    """
    home = folder.resolve()
    path = locate_placed(home.parent, home.name)
    in_results = (home.parent.parent / folders.PLAY_RECORD).exists()
    try:
        placed = read_record(path, PlacedRecord)
    except MissingError:
        if in_results and (home / folders.SPEC).exists():
            message = f"{path} is missing, and nothing else shows what was sent to the host."
            raise RecordError(message, "put it back, or judge a copy of the run's folder alone.") from None
        return judge_run(folder, spec)
    sent = placed.spec
    if in_results and (sent.host, sent.job.name) != (home.parent.name, home.name):
        message = f"{folder} has the run of {sent.job.name} on {sent.host}: it was renamed, or put there."
        raise RecordError(message, "name the folder as it was, or judge a copy of the run's folder alone.")
    verdict = judge_received(folder, sent)
    if verdict.verdict == "PASS" and sent.clock and not (folder / folders.CLOCK).exists():
        lost = "Nothing shows when the run was collected: clock.json is missing."
        return replace(verdict, verdict="UNPROVEN", cause=lost, remedy=_RUN_AGAIN)
    return verdict


def merge_given(sent: RunSpec, returned: RunSpec) -> RunSpec:
    """Return ``sent`` with the nodes and GPUs that its allocation gave, if they fit the request and the plan.

    Of a federation's sites they are those of the host's own alone.
    """
    if sent.allocation is None or len(returned.nodes) != (
        sent.allocation.nodes if sent.allocation.nodes > 1 else 0
    ):
        return sent
    asked = [(site.name, site.ranks, bool(site.gpus)) for site in sent.sites]
    if asked != [(site.name, site.ranks, len(site.gpus) == site.ranks) for site in returned.sites]:
        return sent
    kinds = {(gpu.name, gpu.memory_mib) for gpu in sent.gpus}
    if {(gpu.name, gpu.memory_mib) for gpu in returned.gpus} != kinds:
        return sent
    both = zip(sent.sites, returned.sites, strict=True)
    sites = tuple(replace(site, gpus=now.gpus) if site in sent.own_sites else site for site, now in both)
    return replace(sent, nodes=returned.nodes, sites=sites, gpus=returned.gpus)


def keep_run(
    archive: Path, dest: Path, placed: PlacedRecord, clock: Clock | None = None, payload: str | None = None
) -> None:
    """Unpack a run into ``dest``, judge it, and seal it.

    Args:
        archive: of the run, from the host.
        dest: results/<run>/<host>/<job>.
        placed: what was sent, and where.
        clock: of the host, if it was asked.
        payload: SHA-256 of the payload on the host, if it was asked; empty if it could not be read.

    Raises:
        Complaint: the archive is damaged or not of a run.
        RecordError: something cannot be written.
    """

    code = dest.parents[1] / "payload" / Path(placed.payload).name
    if clock is None and placed.spec.clock:  # a host that does not answer any more
        clock = replace(placed.spec.clock, asked=format_time())

    def finish(folder: Path) -> None:
        write_clock(folder, clock)
        differs = payload is not None and payload != files.digest_file(code)
        _receive(folder, placed.spec, code.name if differs else None)
        move_aside(dest, placed.spec.nonce)

    with explain_unwritten(dest, inside=True):
        unpack_archive(archive, dest, finish)
        verdict = verdict_in(dest)
        if not placed.spec.job.federated:
            _keep_measured(dest, placed.spec)
        seal.seal_run(dest)
    kept = state.note_verdict(placed.run, placed.spec, verdict.verdict, verdict.started)
    if kept != placed.kept:
        write_record(locate_placed(dest.parent, dest.name), replace(placed, kept=kept))


def write_clock(folder: Path, clock: Clock | None) -> None:
    """Write the host's clock into the folder of its run, in place of what the host sent under that name."""
    (folder / folders.CLOCK).unlink(missing_ok=True)
    if clock:
        write_record(folder / folders.CLOCK, clock)


def move_aside(folder: Path, nonce: str) -> None:
    """Move a run that was collected under another nonce to the host's earlier ones."""
    verdict = read_valid(folder / folders.VERDICT, VerdictRecord)
    if verdict and verdict.nonce not in {None, nonce}:
        seal.set_run_aside(folder)


def _keep_measured(dest: Path, spec: RunSpec) -> None:
    """Put what a run measured of its host beside host.json, instead of an earlier run's."""
    target = dest.with_name(folders.ACCEPTANCE_RECORD)
    target.unlink(missing_ok=True)
    with suppress(RecordError):
        record = judge_measurements(open_run(dest, spec))
        write_record(target, replace(record, action=judge_acceptance(record).action))


def _receive(folder: Path, sent: RunSpec, exchanged: str | None) -> None:
    """Judge the run in ``folder``; no file of the host's is taken for its verdict.

    A run of a payload that was ``exchanged`` on the host is UNPROVEN.
    """
    verdict = judge_received(folder, sent)
    if exchanged:
        cause = f"The host did not run what was sent: {exchanged} there is not the file that was sent."
        verdict = replace(verdict, verdict="UNPROVEN", cause=cause, remedy=_RUN_AGAIN)
    write_record(folder / folders.VERDICT, verdict)


def _difference(sent: RunSpec, returned: RunSpec) -> str:
    if returned.nonce != sent.nonce:
        return "The host did not run it for this playbook: its spec.json has another nonce than was sent."
    names = [name for name in RunSpec.__struct_fields__ if getattr(returned, name) != getattr(sent, name)]
    return f"The host did not run what was sent: {' and '.join(names)} of its spec.json differ."
