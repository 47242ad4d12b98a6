# SPDX-License-Identifier: Apache-2.0
"""Why a workflow of a user's own ended before its last round, by what its sites reported."""

import re
from collections.abc import Callable, Iterator, Mapping
from statistics import mean

from rekindle.flare.configuration import Workflow
from rekindle.flare.workspace import SERVER
from rekindle.judge.run import Run
from rekindle.records.events import TaskEvent

from .aggregation import group_by_site

_FALLS = re.compile(r"loss|error|perplexity|entropy|mse|mae|nll|distance", re.IGNORECASE)
"""In the name of a metric that is better if it is lower."""
_SETTLED = 0.2
"""The last gain of a metric that has settled, as a share of all that it ever moved, at most."""
_FIGURE = re.compile(r"(?<![\w.])-?\d{0,9}\.\d{1,30}(?:e-?\d{1,2})?")


def explain_end(run: Run, flow: Workflow) -> tuple[bool, str]:
    """Return whether the reports of sites show why ``flow`` ended where it did, and a clause that says it.

    A metric came to a figure that the workflow was given or has in its code, a metric stopped getting better,
    or the model stopped changing. A stop by the wrong sign ends while all get better.
    """
    reported = _average_rounds(run, lambda event: event.metrics)
    series = {name: values for name, values in reported.items() if len(values) > 1}
    goals = [*_list_goals(run, flow)]
    for name, values in series.items():
        for goal in goals:
            if max(values[:-1]) < goal <= values[-1] or min(values[:-1]) > goal >= values[-1]:
                return True, f"as {name} came to {values[-1]:.4g}, and {goal:g} is its figure"
    for name, values in series.items():
        if _is_settled(name, values):
            return True, f"as {name} no longer got better ({_show_ends(values)})"
    moves = _average_rounds(run, lambda event: {"moved": event.moved}).get("moved", [0.0])
    if moves[-1] < _SETTLED * moves[0]:
        return True, f"as sites hardly changed the model any more ({_show_ends(moves)})"
    if series:
        name, values = next(iter(series.items()))
        return False, f"while {name} still got better ({_show_ends(values)})"
    return False, "and no site reported a metric of more than one round"


def _average_rounds(
    run: Run, read: Callable[[TaskEvent], Mapping[str, float | None]]
) -> dict[str, list[float]]:
    """Return the mean over sites of each figure that ``read`` takes of a result, in the order of rounds."""
    of_rounds: dict[str, dict[int, list[float]]] = {}
    for lines in group_by_site(run).values():
        for count, line in enumerate(lines):  # a workflow of a user's own may not number its rounds
            number = count if line.event.round is None else line.event.round
            for name, value in read(line.event).items():
                if value is not None:
                    of_rounds.setdefault(name, {}).setdefault(number, []).append(value)
    return {name: [mean(values[number]) for number in sorted(values)] for name, values in of_rounds.items()}


def _is_settled(name: str, values: list[float]) -> bool:
    sign = -1 if _FALLS.search(name) else 1
    gained = sign * values[-1] - max(sign * value for value in values[:-1])
    return gained <= _SETTLED * (max(values) - min(values))


def _list_goals(run: Run, flow: Workflow) -> Iterator[float]:
    """Yield each fraction in the workflow's arguments and in the file of its class."""
    yield from (value for value in flow.arguments.values() if isinstance(value, float))
    server = run.workspace.members.get(SERVER)
    for name in (name for name in (server.sizes if server else ()) if name.endswith(".py")):
        text = ((server.read(name) if server else None) or b"").decode("utf-8", "replace")
        if re.search(rf"^class {re.escape(flow.kind)}\b", text, re.MULTILINE):
            yield from map(float, _FIGURE.findall(text))


def _show_ends(values: list[float]) -> str:
    return f"{values[0]:.4g} to {values[-1]:.4g}"
