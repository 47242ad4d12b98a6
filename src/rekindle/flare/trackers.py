"""A run's scalars in TensorBoard, MLflow and W&B offline, read with the standard library."""

import json
import math
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from rekindle.host import files

from .protobuf import field, fields
from .workspace import LOG, SERVER, Member, Workspace

_FILES = 10_000
"""Files of a tracker that are read."""
_ROWS = 1_000_000
_STEPS = 20_000_000
"""Steps of SQLite's virtual machine; a hostile database could take any number."""
_NVFLARES = {"metrics_summary.json", "round_metrics.jsonl"}
"""Files in a folder of NVFlare's that is called as MLflow's is, since 2.9."""
_WANDB_HEAD, _BLOCK = b":W&B", 1 << 15
_HISTORY, _RUN, _DISPLAY_NAME = 2, 17, 8
"""Numbers of W&B's records and of the field with a run's name."""
_HOW = ("?", "full", "first", "middle", "last")


class Scalar(NamedTuple):
    """One value that a tracker kept."""

    run: str
    """Name of the run, or of the folder that TensorBoard shows as one."""
    tag: str
    step: int
    value: float
    site: str = ""
    """Whose own tracker kept it; empty for the server's."""


class BrokenTrackerError(ValueError):
    """A tracker's file cannot be read; the text names it and the reason."""


def kept(workspace: Workspace, tracker: str) -> list[Scalar]:
    """Return what ``tracker`` (``tensorboard``, ``mlflow``, ``wandb``) kept at the server, else at the sites.

    Raises:
        BrokenTrackerError: a file of it is damaged.
    """
    read = TRACKERS[tracker]
    server = [workspace.members[SERVER]] if SERVER in workspace.members else []
    found = [scalar for member in (*server, *_beside(workspace)) for scalar in read(member)]
    if found:
        return found
    of_sites = ((site, read(workspace.members[site])) for site in workspace.sites)
    return [scalar._replace(site=site) for site, scalars in of_sites for scalar in scalars]


def _beside(workspace: Workspace) -> Iterator[Member]:
    """Yield the folder that an example keeps beside its workspace for its server."""
    if SERVER in workspace.members:
        own = workspace.members[SERVER].path(LOG).parents[1]
        folder = own.parent / SERVER / "simulate_job"
        if own.name == workspace.job and folder.is_dir():
            yield Member(folder)


def _tensorboard(member: Member) -> Iterator[Scalar]:
    for name in _named(member, lambda path: ".tfevents." in path.name or path.name.startswith("events.out")):
        run = PurePosixPath(name).parent.name
        try:
            for event in _events(member.read(name) or b""):
                yield from _summary(run, event)
        except (ValueError, struct.error) as error:
            raise BrokenTrackerError(f"{name} cannot be read: {error}") from None


def _events(content: bytes) -> Iterator[bytes]:
    """Yield the complete records of a file of TensorBoard's."""
    at = 0
    while at + 12 <= len(content):
        size = struct.unpack_from("<Q", content, at)[0]
        if at + 12 + size > len(content):
            return
        yield content[at + 12 : at + 12 + size]
        at += 16 + size


def _summary(run: str, event: bytes) -> Iterator[Scalar]:
    step, summaries = 0, []
    for number, value in fields(event):
        if number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for number, value in fields(summary):
            if number == 1 and isinstance(value, bytes):
                value_of = dict(fields(value))
                raw, tag = value_of.get(2), value_of.get(1)
                tensor = value_of.get(8)
                if raw is None and isinstance(tensor, bytes):
                    raw = field(tensor, 5)
                if isinstance(raw, bytes) and len(raw) == 4 and isinstance(tag, bytes):
                    yield Scalar(run, tag.decode("utf-8", "replace"), step, struct.unpack("<f", raw)[0])


def _mlflow(member: Member) -> Iterator[Scalar]:
    for name in _named(member, _of_mlflow):
        home = PurePosixPath(name).parents[1]
        run = (member.read(f"{home}/tags/mlflow.runName") or b"").decode("utf-8", "replace").strip()
        for line in (member.read(name) or b"").decode("utf-8", "replace").splitlines()[:_ROWS]:
            words = line.split()
            try:
                yield Scalar(run or home.name, PurePosixPath(name).name, int(words[2]), float(words[1]))
            except (ValueError, IndexError):
                raise BrokenTrackerError(f"{name} has a line that is no metric.") from None
    for name in _named(member, lambda path: path.suffix == ".db"):
        yield from _database(member.path(name))


def _of_mlflow(path: PurePosixPath) -> bool:
    return path.parent.name == "metrics" and len(path.parts) > 2 and path.name not in _NVFLARES


def _database(path: Path) -> Iterator[Scalar]:
    try:
        with files.opened(path) as stream:
            if stream.read(16) != b"SQLite format 3\0":
                return
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
            steps = iter(range(_STEPS // 10_000))
            base.set_progress_handler(lambda: next(steps, None) is None, 10_000)
            tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {"runs", "metrics"} <= tables:
                return
            asked = (
                "SELECT runs.name, key, step, value, is_nan FROM metrics JOIN runs USING (run_uuid) LIMIT ?"
            )
            for run, tag, step, value, nan in base.execute(asked, (_ROWS,)):
                yield Scalar(str(run), str(tag), int(step), math.nan if nan else float(value))
    except (sqlite3.Error, ValueError, TypeError, OSError) as error:
        raise BrokenTrackerError(f"{path.name} cannot be read: {str(error)[:100]}") from None


def _wandb(member: Member) -> Iterator[Scalar]:
    for name in _named(member, lambda path: path.suffix == ".wandb"):
        try:
            yield from _offline(member.read(name) or b"")
        except (ValueError, struct.error) as error:
            raise BrokenTrackerError(f"{name} cannot be read: {error}") from None


def _offline(content: bytes) -> Iterator[Scalar]:
    if content[:4] != _WANDB_HEAD:
        raise ValueError("it does not begin as W&B's files do")
    run = ""
    for record in _records(content):
        for number, value in fields(record):
            if number == _RUN and isinstance(value, bytes):
                run = field(value, _DISPLAY_NAME).decode("utf-8", "replace")
            elif number == _HISTORY and isinstance(value, bytes):
                yield from _history(run, value)


def _history(run: str, row: bytes) -> Iterator[Scalar]:
    values: dict[str, object] = {}
    for number, item in fields(row):
        if number == 1 and isinstance(item, bytes):
            key = (field(item, 1) or field(item, 2)).decode("utf-8", "replace")
            values[key] = json.loads(field(item, 16) or b"null")
    step = values.get("_step")
    for key, value in values.items():
        if not key.startswith("_") and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Scalar(run, key, step if isinstance(step, int) else 0, float(value))


def _records(content: bytes) -> Iterator[bytes]:
    """Yield the records of LevelDB's log format, after the seven bytes of W&B's own head."""
    at, parts = 7, [b""]
    while at + 7 <= len(content):
        left = _BLOCK - at % _BLOCK
        if left < 7:
            at += left
            continue
        _, size, how = struct.unpack_from("<IHB", content, at)
        part = content[at + 7 : at + 7 + size]
        if len(part) < size or (how == 0 and size == 0):
            return
        if how >= len(_HOW):
            raise ValueError(f"it has a record of the kind {how}")
        parts = [part] if _HOW[how] in ("full", "first") else [*parts, part]
        if _HOW[how] in ("full", "last"):
            yield b"".join(parts)
        at += 7 + size


def _named(member: Member, chosen: Callable[[PurePosixPath], bool]) -> list[str]:
    return [name for name in member.sizes if chosen(PurePosixPath(name))][:_FILES]


TRACKERS = {"tensorboard": _tensorboard, "mlflow": _mlflow, "wandb": _wandb}
"""The reader of each tracker's files in the folder of a server or a site."""
