"""The models that NVFlare's server saved, read here and as the run's environment loaded them."""

import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from rekindle.flare import announced
from rekindle.flare.models import read_model
from rekindle.flare.values import KEPT, UnreadableError, Values, numbers_in
from rekindle.flare.workspace import Workspace
from rekindle.host.archive import FILE_LIMIT
from rekindle.host.files import sha256
from rekindle.judge.check import Result, check, fails, holds, unknown
from rekindle.judge.run import Run
from rekindle.records.events import ModelEvent, TaskEvent
from rekindle.records.evidence import Line

_WIDEST = 8
"""Bytes that one value of a saved model has at most."""
_NUMPY_DEFAULT = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
"""The initial model of NVFlare's NumPy persistor unless another is given."""


@check("claim")
def global_model_saved(run: Run) -> Result:
    """The server saved a model that is complete, finite, not zero, and not the initial one.

    For a model too large to be collected, the evidence of loading it on the host counts; `saved_models_load`
    compares that with what sites sent.
    """
    found = [_read(run, name) for name in sorted(run.models)] or [
        _stayed(run, name, file) for name, file in sorted(run.models_left.items())
    ]
    if not found:
        return unknown("No model file is in the server's folder, or in the sites' of swarm learning.")
    return min(found, key=lambda result: ("fails", "holds", "unknown").index(result.state))


def _stayed(run: Run, name: str, file: str) -> Result:
    line = run.loaded.get(file)
    if line is None:
        return unknown(f"{name} stayed on the host: {run.left[file]}.")
    return _sound(
        f"{name} stayed on the host: {run.left[file]}. It loaded there, with {line.event.values} values", line
    )


def _sound(message: str, line: Line[ModelEvent]) -> Result:
    if line.event.finite and line.event.norm:
        return holds(f"{message}, finite and not all zero.", line)
    return fails(f"{message}, which are not sound.", line)


def _read(run: Run, name: str) -> Result:
    workspace, (member, file) = run.workspace, run.models[name]
    at, size = member.path(file), member.sizes[file]
    try:
        values = read_model(member, file)
    except UnreadableError as error:
        line = None if error.damaged else run.loaded.get(at.relative_to(workspace.folder).as_posix())
        if line and not line.event.error:
            return _sound(f"{name} loaded in the run's environment, with {line.event.values} values", line)
        return (fails if error.damaged else unknown)(f"{name} is not read: {error}.", at)
    except OSError as error:
        return unknown(f"{name} is not read: {error.strerror}.", at)
    if values is None:
        return holds(f"{name} has {size} bytes and is complete; only its framework can read its values.", at)
    wrong = _wrong(workspace, name, values)
    if wrong:
        return fails(f"{name} {wrong}.", at)
    part = "" if values.whole else ", in the part that was read"
    return holds(f"{name} has {values.count} values, finite and not all zero{part}.", at)


def _wrong(workspace: Workspace, name: str, values: Values) -> str | None:
    if not values.finite:
        return "has values that are not finite"
    if values.zero:
        return "is all zeros"
    initial = _initial(workspace, Path(name).name)
    if initial is not None and values.kept == initial:
        return "is the model that the run began with"
    return None


def _initial(workspace: Workspace, file: str) -> list[float] | None:
    """Return the initial model of NumPy's persistor; None if it is another one's, or unknown."""
    for component in announced.components(workspace):
        given = component.get("args", {})
        mine = (
            component["path"].endswith(".NPModelPersistor") and given.get("model_name", "server.npy") == file
        )
        if mine and not given.get("source_ckpt_file_full_name"):
            numbers = list(islice(numbers_in(given.get("model", _NUMPY_DEFAULT)), KEPT + 1))
            try:
                return list(struct.unpack(f"{len(numbers)}f", struct.pack(f"{len(numbers)}f", *numbers)))
            except (struct.error, OverflowError):
                return None
    return None


@check("federated")
def saved_models_load(run: Run) -> Iterator[Result]:
    """Every model that the server saved loads in the run's environment: finite, not all zeros, trained.

    The final model of which job.py reports metrics is one of them.
    """
    loaded = {line.event.digest for file, line in run.loaded.items() if file}
    if run.final and loaded and run.final.event.digest not in loaded:
        yield fails("The final model is none that the server saved.", run.final)
    began, sent = run.loaded.get(""), {line.event.values for line in run.of(TaskEvent)}
    saved = {name: member.path(file) for name, (member, file) in sorted(run.models.items())}
    files = {name: path.relative_to(run.folder).as_posix() for name, path in saved.items()}
    for name, file in {**files, **dict(sorted(run.models_left.items()))}.items():
        line, stayed = run.loaded.get(file), f"{name} stayed on the host" if name not in saved else ""
        if line is None:
            yield unknown(f"{stayed or name}: nothing shows whether it loads in the run's environment.")
        elif message := _flaw(line.event, began.event if began else None):
            yield fails(f"{name} {message}.", line)
        elif not stayed and line.event.sha256 != sha256(saved[name]):
            yield unknown(f"{name} is not the file that was loaded in the run's environment.", line)
        elif stayed and line.event.values * _WIDEST < FILE_LIMIT:
            yield unknown(f"{stayed} as too large, and has {line.event.values} values.", line)
        elif stayed and line.event.values not in sent:
            yield unknown(f"{stayed}, with {line.event.values} values, which no site sent.", line)


def _flaw(saved: ModelEvent, began: ModelEvent | None) -> str | None:
    if saved.error:
        return f"does not load in the run's environment ({saved.error[:200]})"
    if not saved.values or saved.digest is None:
        return "has no weights"
    if not saved.finite:
        return "has weights that are not finite"
    if not saved.norm:
        return "has weights that are all zeros"
    if began and began.digest == saved.digest:
        return "is the model that the run began with"
    return None
