"""That the models which NVFlare's server saved are models, as they loaded in the run's own environment."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.flare.workspace import SERVER
from rekindle.host.archive import FILE_LIMIT
from rekindle.host.files import sha256
from rekindle.judge.run import Run
from rekindle.records.events import ModelEvent, TaskEvent

from .registry import Doubt, rule

_WIDEST = 8
"""Bytes that one value of a saved model has at most."""


@rule(3)
def saved_models_load(run: Run) -> Iterator[Doubt]:
    """Every model that the server saved loads in the run's environment: finite, not all zeros, trained."""
    loaded, began = run.loaded, run.loaded.get("")
    sent = {line.event.values for line in run.of(TaskEvent)}
    for name in sorted(run.workspace.models()):
        path = run.workspace.members[SERVER].path(name)
        line = loaded.get(path.relative_to(run.folder).as_posix())
        if line is None:
            yield Doubt(f"Nothing tells whether {name} loads in the run's environment.")
        elif says := _wrong(line.event, began.event if began else None):
            yield Doubt(f"{name} {says}.", line, holds=False)
        elif line.event.sha256 != sha256(path):
            yield Doubt(f"{name} is not the file that was loaded in the run's environment.", line)
    for name, file in sorted(run.models_left.items()):
        line = loaded.get(file)
        if line is None:
            yield Doubt(f"{name} stayed on the host, and nothing tells whether it loads there.")
        elif says := _wrong(line.event, began.event if began else None):
            yield Doubt(f"{name} {says}.", line, holds=False)
        elif line.event.values * _WIDEST < FILE_LIMIT:
            yield Doubt(f"{name} stayed on the host as too large, and has {line.event.values} values.", line)
        elif line.event.values not in sent:
            says = f"{name} stayed on the host, with {line.event.values} values, which no site sent."
            yield Doubt(says, line)


def _wrong(saved: ModelEvent, began: ModelEvent | None) -> str | None:
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
