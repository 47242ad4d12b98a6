# SPDX-License-Identifier: Apache-2.0
"""Which results are of training."""

from functools import cached_property

from msgspec.structs import replace

from rekindle.flare.configuration import does_validate_at_end
from rekindle.flare.workspace import Workspace
from rekindle.records.events import TaskEvent
from rekindle.records.evidence import EvidenceLine

from .means import is_mean
from .sketches import is_same, sketch_made

TRAINS = "train"
"""The task of training, unless a workflow has another name for it."""
VALIDATES = "validate"
_NOT_TRAINED = {"submit_model", "get_weights", VALIDATES}
"""Tasks for which a site may send weights that it did not train."""
_NO_LOSS = 1e-6
"""A loss of which no gradient is left."""


class Training:
    """The results of training among those that a server got."""

    def __init__(self, results: list[EvidenceLine[TaskEvent]], workspace: Workspace) -> None:
        """Take all results, and the workspace that has their workflows."""
        self._results, self._workspace = results, workspace

    @cached_property
    def results(self) -> list[EvidenceLine[TaskEvent]]:
        """Those of training, without those of rounds in which sites validate, as in NVFlare's SVM."""
        return _of_training(self._results, self._workspace)

    @cached_property
    def converged(self) -> frozenset[int]:
        """The last rounds of training in which no site had anything left to learn."""
        return _find_converged(self.results)

    @cached_property
    def models(self) -> list[EvidenceLine[TaskEvent]]:
        """The results of training that have weights, in the order of their rounds.

        Rounds of a further workflow are counted on from those of the workflow before it.
        """
        return _in_order([line for line in self.results if line.event.sketch])


def _find_converged(lines: list[EvidenceLine[TaskEvent]]) -> frozenset[int]:
    """Return the last rounds in which every site sent back the model that it got, as it had converged.

    A model that was trained before is a fixed point of every site if all had made the same one, if it is not
    their mean, as where k-means is exact, or if sites report that no loss is left. The mean of results that
    differ is none: a site that trains moves it.
    """
    rounds: dict[int, list[TaskEvent]] = {}
    for event in (line.event for line in lines if line.event.sketch):
        rounds.setdefault(event.round or 0, []).append(event)
    numbers, still = sorted(rounds), frozenset[int]()
    for number in reversed(numbers[1:]):
        if any(event.moved != 0 for event in rounds[number]):
            break
        still |= {number}
    if not still:
        return still
    now, before = rounds[min(still)], rounds[numbers[numbers.index(min(still)) - 1]]
    agreed = all(is_same(sketch_made(event), sketch_made(before[0])) for event in before)
    done = all(map(_has_no_loss, now))
    return still if agreed or done or not is_mean(now[0].sent, before) else frozenset()


def _has_no_loss(event: TaskEvent) -> bool:
    losses = (value for name, value in event.metrics.items() if "loss" in name.lower())
    return any(value is not None and abs(value) < _NO_LOSS for value in losses)


def _of_training(
    results: list[EvidenceLine[TaskEvent]], workspace: Workspace
) -> list[EvidenceLine[TaskEvent]]:
    """Return the results of training.

    Without metrics alone, those of rounds in which sites validate, as NVFlare's SVM, or send nothing but
    metrics, and of a first round in which no site trains, as with a rate that begins at 0.
    """
    lines = [line for line in results if line.event.task == TRAINS and line.event.kind != "METRICS"]
    if not lines:
        weights = [line for line in results if line.event.kind.startswith("WEIGHT")]
        lines = [line for line in weights if line.event.task not in _NOT_TRAINED]
        of_rounds = {line.event.task for line in lines if line.event.round is not None}
        lines = [line for line in lines if line.event.task in of_rounds] or lines
    lines = _drop_measured(lines)
    first = [line for line in lines if line.event.round == 0]
    if all(line.event.trained == 0 for line in first):
        lines = [line for line in lines if line.event.round != 0] or lines
    if not does_validate_at_end(workspace):
        return lines
    return [line for line in lines if not (line.event.round and line.event.moved == 0)]


def _drop_measured(lines: list[EvidenceLine[TaskEvent]]) -> list[EvidenceLine[TaskEvent]]:
    """Drop the rounds in which no site sends but metrics: no bytes, or integers that are all 0."""
    trained = {line.event.round for line in lines if not _is_measured(line.event)}
    return [line for line in lines if line.event.round in trained] or lines


def _is_measured(event: TaskEvent) -> bool:
    return bool(event.metrics) and (not event.bytes or is_zeros(event))


def is_zeros(event: TaskEvent) -> bool:
    """Whether the numbers of a result are integers, which nothing is compared with, and all 0."""
    return event.norm == 0 and event.moved is None and not event.sketch


def _in_order(results: list[EvidenceLine[TaskEvent]]) -> list[EvidenceLine[TaskEvent]]:
    """Return results in the order of their rounds, which go on from one workflow of a job to the next."""
    by_workflow: dict[str, list[EvidenceLine[TaskEvent]]] = {}
    for line in sorted(results, key=lambda line: line.event.time):
        by_workflow.setdefault(line.event.workflow, []).append(line)
    found: list[EvidenceLine[TaskEvent]] = []
    for lines in by_workflow.values():
        first = 1 + max((line.event.round or 0 for line in found), default=-1)
        moved = lines
        if first:
            events = (replace(line.event, round=(line.event.round or 0) + first) for line in lines)
            moved = [
                EvidenceLine(event, line.file, line.line) for event, line in zip(events, lines, strict=True)
            ]
        found += sorted(moved, key=lambda line: line.event.round or 0)
    return found
