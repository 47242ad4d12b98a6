"""The claim on the models that NVFlare's server saved, read without a framework."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rekindle.flare import announced
from rekindle.flare.models import read_model
from rekindle.flare.values import KEPT, UnreadableError, Values
from rekindle.flare.workspace import SERVER, Workspace
from rekindle.judge.answer import Answer
from rekindle.judge.run import Run
from rekindle.records.events import ModelEvent
from rekindle.records.evidence import Line

from .registry import validator

_NUMPY_DEFAULT = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
"""What NVFlare's numpy persistor begins with where nothing else is given."""


@validator("workspace")
def global_model_saved(run: Run, options: dict[str, Any]) -> Answer:
    """The server saved a model that is whole, finite, not zero, and no longer the one it began with.

    Of one that is too large to come home, what was seen of it as it loaded there counts; `saved_models_load`
    holds that to what sites sent.
    """
    if run.workspace.models() or not run.models_left:
        return model_saved(run.workspace, run.loaded)
    answers = [_stayed(run, name, file) for name, file in sorted(run.models_left.items())]
    return min(answers, key=lambda answer: (False, True, None).index(answer.holds))


def _stayed(run: Run, name: str, file: str) -> Answer:
    line = run.loaded.get(file)
    if line is None:
        return Answer(None, f"{name} stayed on the host: {run.left[file]}.")
    return _sound(
        f"{name} stayed on the host: {run.left[file]}. It loaded there, with {line.event.values} values", line
    )


def _sound(says: str, line: Line[ModelEvent]) -> Answer:
    sound = bool(line.event.finite and line.event.norm)
    return Answer(sound, f"{says}, {'finite and not all zero' if sound else 'which are not sound'}.", line)


def model_saved(workspace: Workspace, loaded: Mapping[str, Line[ModelEvent]] | None = None) -> Answer:
    """Whether the server saved sound models, as far as their formats can be read here.

    Args:
        workspace: NVFlare's files.
        loaded: how models loaded in the run's environment, which reads each format, by file.
    """
    names = workspace.models()
    if not names:
        return Answer(None, "No model file is in the server's folder.")
    answers = [_model_answer(workspace, name, loaded or {}) for name in sorted(names)]
    return min(answers, key=lambda answer: (False, True, None).index(answer.holds))


def _model_answer(workspace: Workspace, name: str, loaded: Mapping[str, Line[ModelEvent]]) -> Answer:
    member = workspace.members[SERVER]
    at, size = member.path(name), member.sizes[name]
    try:
        values = read_model(member, name)
    except UnreadableError as error:
        line = None if error.damaged else loaded.get(at.relative_to(workspace.folder).as_posix())
        if line and not line.event.error:
            return _sound(f"{name} loaded in the run's environment, with {line.event.values} values", line)
        return Answer(None if not error.damaged else False, f"{name} is not read: {error}.", at)
    except OSError as error:
        return Answer(None, f"{name} is not read: {error.strerror}.", at)
    if values is None:
        says = f"{name} has {size} bytes, and is whole; its values take its framework to read."
        return Answer(True, says, at)
    wrong = _wrong(workspace, name, values)
    if wrong:
        return Answer(False, f"{name} {wrong}.", at)
    part = "" if values.whole else ", as far as it was read"
    return Answer(True, f"{name} has {values.count} values, finite and not all zero{part}.", at)


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
    """Return the model that numpy's persistor began with; None if it is of another one, or not told."""
    for component in announced.components(workspace):
        given = component.get("args", {})
        mine = (
            component["path"].endswith(".NPModelPersistor") and given.get("model_name", "server.npy") == file
        )
        if mine and not given.get("source_ckpt_file_full_name"):
            numbers = list(_flat(given.get("model", _NUMPY_DEFAULT)))
            try:
                return list(struct.unpack(f"{len(numbers)}f", struct.pack(f"{len(numbers)}f", *numbers)))
            except (struct.error, OverflowError):
                return None
    return None


def _flat(nested: object) -> Iterator[object]:
    """Yield the first numbers of nested lists, in their order."""
    left, count = [iter([nested])], 0
    while left and count <= KEPT:
        item = next(left[-1], left)
        if item is left:
            left.pop()
        elif isinstance(item, list):
            left.append(iter(item))
        else:
            count += 1
            yield item
