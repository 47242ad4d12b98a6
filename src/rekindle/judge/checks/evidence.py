# SPDX-License-Identifier: Apache-2.0
"""Evidence and files are of this run: read, with its nonce, as sent, and without an exception."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from rekindle.flare.workspace import SERVER
from rekindle.host import files, folders
from rekindle.host.archive import FILE_LIMIT
from rekindle.judge.check import Result, fails, holds, register_check, unknown
from rekindle.judge.run import Run
from rekindle.records import events
from rekindle.records.text import list_few

_CODE = {".py", ".so", ".sh"}
"""Files that Python or a shell may run without being named."""
_DECIDES = {*_CODE, "", ".cfg", ".conf", ".ini", ".toml", ".yaml", ".yml"}
"""Files that decide what a job does, and that no job rewrites."""
_JOB = (events.FinalEvent, events.TrackingEvent, events.ExceptionEvent, events.ModelEvent)
_ONCE = (
    events.ConfigurationEvent,
    events.FinalEvent,
    events.GlobalEvent,
    events.ModelEvent,
    events.TrackingEvent,
)
"""Each is written once of a member, a round, a model or a tracker, or again as it was."""
_SERVER = (
    events.ConfigurationEvent,
    events.GlobalEvent,
    events.TaskEvent,
    events.ExceptionEvent,
    events.ModelEvent,
)


@register_check("federated", holds="No trainer recorded an exception.")
def nobody_raised(run: Run) -> Iterator[Result]:
    for line in run.find(events.ExceptionEvent):
        event = line.event
        yield fails(f"{event.who} raised {event.kind}: {event.message[:300]}", line)


@register_check(
    "federated", holds="Every file is a regular one of bounded size, and every line of evidence an event."
)
def everything_is_read(run: Run) -> Iterator[Result]:
    for message in run.unread:
        yield unknown(message)
    for file, number in run.broken:
        yield unknown(f"Line {number} of {file} is not an event.", file)


@register_check(
    "federated",
    holds="Every line of evidence, and the record of the run's end, repeat the nonce of its spec.",
)
def all_of_this_run(run: Run) -> Iterator[Result]:
    nonce = run.spec.nonce
    if not nonce:
        yield unknown("The run's spec has no nonce, so nothing ties the evidence to it.", folders.SPEC)
    for line in run.lines:
        if line.event.nonce != nonce:
            yield unknown("A line of evidence has another nonce than the run's spec.", line)
    if run.ended and run.ended.nonce != nonce:
        yield unknown("The record of the run's end has another nonce than its spec.", folders.ENDED)


@register_check(
    "federated",
    holds="Every line of evidence is of the site and rank of its file, and contradicts none there.",
)
def everyone_writes_their_own(run: Run) -> Iterator[Result]:
    ranks = {
        f"{folders.EVIDENCE}/{site.name}.rank-{rank}.jsonl": (site.name, rank)
        for site in run.sites.all
        for rank in range(site.ranks)
    }
    nodes = {*run.nodes, *(site.node for site in run.sites.all if site.node)}
    writers: dict[str, tuple[type[events.Event], ...]] = {
        f"{folders.EVIDENCE}/job.jsonl": _JOB,
        folders.SERVER_EVENTS: _SERVER,
        folders.name_server_events(run.workspace.job): _SERVER,
        **dict.fromkeys(map(folders.name_samples, nodes), (events.SampleEvent,)),
    }
    first: dict[tuple[object, ...], events.Event] = {}
    for line in run.lines:
        event, rank = line.event, ranks.get(line.file)
        if isinstance(event, _ONCE):
            of = (
                getattr(event, name, None)
                for name in ("member", "round", "workflow", "tracker", "site", "model")
            )
            timeless = replace(event, time=0.0)
            if first.setdefault((line.file, type(event), *of), timeless) != timeless:
                yield unknown(f"{line.file} has two lines on one thing, which differ.", line)
        if rank:
            own = isinstance(event, events.RankEvent) and (event.site, event.rank) == rank
        else:
            site, file = folders.parse_recorder(line.file)
            written = writers.get(file, ())
            if isinstance(event, events.ConfigurationEvent):
                own = event.member == (site or SERVER) and events.ConfigurationEvent in written
            elif isinstance(event, (events.UseEvent, events.MadeEvent)):
                own = event.site == site and events.ConfigurationEvent in written
            else:
                own = site in ("", *run.account.aggregators) and isinstance(event, written)
        if not own:
            yield unknown(f"{line.file} has a line that its writer does not write.", line)


def _undigested(run: Run) -> str | None:
    return None if run.spec.files else "The run's spec has no digests of what was sent."


@register_check(
    "federated",
    "acceptance",
    holds="Every file of the job's code is as it was sent, and so is every copy of it that NVFlare ran.",
    unless=_undigested,
)
def files_are_as_sent(run: Run) -> Iterator[Result]:
    """Jobs may rewrite their data and what came of an earlier run."""
    sent, job = run.spec.files, run.folder / folders.JOB
    data = []
    for name, digest in sent.items():
        file, found = f"{folders.JOB}/{name}", _digest(job / name)
        if found == digest or (not digest and (not found or (job / name).lstat().st_size > FILE_LIMIT)):
            continue
        if Path(name).suffix not in _DECIDES:
            data.append(name)
        elif found is None:
            yield unknown(f"{file} was sent and is missing from the run.")
        else:
            yield unknown(f"{file} is not the file that was sent.", file)
    copies = (path for path in sorted(job.glob(f"{folders.WORKSPACE}/**/custom/**/*")) if path.is_file())
    for path in (path for path in copies if path.suffix in _CODE):  # NVFlare's simulator starts from them
        inside = path.as_posix().rpartition("/custom/")[2]
        known = {digest for name, digest in sent.items() if f"/{name}".endswith(f"/{inside}")}
        if known and _digest(path) not in known:
            file = path.relative_to(run.folder).as_posix()
            yield unknown(f"{file}, which NVFlare ran, is not the file that was sent.", file)
    notes = []
    if large := sorted(name for name, digest in sent.items() if not digest):
        notes.append(f"Too large to be collected and compared: {list_few(large)}.")
    if data:
        notes.append(f"Data that is not as it was sent: {list_few(sorted(data))}.")
    if more := [name for name in _code(job) if name not in sent]:
        notes.append(f"Code in the job's folder that was not sent: {list_few(more)}.")
    if notes:
        yield holds(" ".join(notes))


def _digest(path: Path) -> str | None:
    with suppress(OSError):
        return files.digest_file(path)
    return None


def _code(job: Path) -> Iterator[str]:
    for path in sorted(job.rglob("*")):
        name = path.relative_to(job)
        if path.suffix in _CODE and name.parts[0] != folders.WORKSPACE:
            yield name.as_posix()
