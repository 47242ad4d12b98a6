"""Which results are of training."""

from rekindle.flare.announced import validates_at_the_end
from rekindle.flare.workspace import Workspace
from rekindle.records.events import TaskEvent
from rekindle.records.evidence import Line

TRAINS = "train"
"""The task of training, unless a workflow has another name for it."""
_NOT_TRAINED = {"submit_model", "get_weights", "validate"}
"""Tasks for which a site may send weights that it did not train."""


def of_training(results: list[Line[TaskEvent]], workspace: Workspace) -> list[Line[TaskEvent]]:
    """Return the results of training.

    Without those of rounds in which sites validate, as NVFlare's SVM, and of a first round in which no site
    trains, as with a rate that begins at 0.
    """
    lines = [line for line in results if line.event.task == TRAINS]
    if not lines:
        weights = [line for line in results if line.event.kind.startswith("WEIGHT")]
        lines = [line for line in weights if line.event.task not in _NOT_TRAINED]
    first = [line for line in lines if line.event.round == 0]
    if all(line.event.trained == 0 for line in first):
        lines = [line for line in lines if line.event.round != 0] or lines
    if not validates_at_the_end(workspace):
        return lines
    return [line for line in lines if not (line.event.round and line.event.moved == 0)]
