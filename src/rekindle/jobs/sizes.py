# SPDX-License-Identifier: Apache-2.0
"""How many sites and rounds a user's own job has, as its files say it."""

import ast
import re
from collections.abc import Iterator

from .scripts import Script, SourceValue, take_last_name
from .source import Source

STARTS = ("SimEnv", "simulator_run", "SimulatorRunner")
"""What starts NVFlare's simulator in a script."""
_NUMBERS = ("num_rounds", "n_rounds", "rounds", "max_rounds", "total_rounds", "global_rounds")
"""Names of the argument with a workflow's rounds; NVFlare's own have the first."""
_SENDS = ("send_model_and_wait", "send_model", "broadcast_and_wait", "broadcast_model")
"""What a workflow calls in each of its rounds."""


def count_sites(source: Source) -> SourceValue | None:
    """Return the number of its sites, or the sites; None if no file of the job shows it."""
    return next(_counted(source), None)


def _counted(source: Source) -> Iterator[SourceValue]:
    """Yield what says how many sites there are, what starts them first."""
    for keyword in ("clients", "num_clients", "n_clients"):
        for found in source.find_argument(keyword, STARTS):
            value = found.value.split(",") if isinstance(found.value, str) else found.value
            if isinstance(value, (list, tuple)) and value:
                yield found._replace(value=len(value), option="")
            elif _counts(value):
                yield found
    if match := re.search(r"\bsimulator\b.{0,400}?\s-n[ =]{0,4}(\d{1,9})", source.words, re.DOTALL):
        yield SourceValue(int(match[1]), source.entry)
    for keyword in ("n_clients", "num_clients"):
        yield from (found for found in source.find_argument(keyword) if _counts(found.value))
    yield from (SourceValue(len(one.sites), one.name) for one in source.configurations if one.sites)
    named = {*re.findall(r"\bsite-\d+\b", source.words)}
    if len(named) > 1:
        yield SourceValue(len(named), source.entry)
    for found in (*source.find_argument("per_site_config"), *_deployed(source)):
        if not found.value:  # nothing yet: the script fills it
            continue
        if isinstance(found.value, (list, tuple, dict)):
            yield found._replace(value=len(found.value), option="")
        elif _counts(found.value):
            yield found
    yield from (found for found in source.find_argument("min_clients") if _counts(found.value))
    configured = [
        SourceValue(count, one.name) for one in source.configurations if (count := one.most("min_clients"))
    ]
    yield from sorted(configured, key=lambda found: -found.value)


def _deployed(source: Source) -> Iterator[SourceValue]:
    """Yield over what each loop goes that sends something to a site: sites, or their number."""
    for script in source.scripts:
        yield from filter(
            None, (_goes_over(source, over, script) for over in script.find_loops("to", "target", 1))
        )


def _goes_over(source: Source, over: ast.expr, script: Script) -> SourceValue | None:
    """Return what a loop goes over; of a range of whole numbers how many they are."""
    if not (isinstance(over, ast.Call) and take_last_name(over.func) == "range" and over.args):
        return source.value(over, script)
    if len(over.args) == 1:
        return source.value(over.args[0], script)
    first, last, *every = over.args
    if every:
        return None
    if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Add):  # range(1, sites + 1)
        added = [one for one in (last.left, last.right) if ast.dump(one) != ast.dump(first)]
        return source.value(added[0], script) if len(added) == 1 else None
    began, ends = source.value(first, script), source.value(last, script)
    if began and ends and isinstance(began.value, int) and isinstance(ends.value, int):
        return ends._replace(value=ends.value - began.value)
    return None


def _counts(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0)


def count_rounds(source: Source) -> SourceValue | None:
    """Return the rounds of its workflows; None if they cannot be read, or differ.

    What the script says that is run comes before what its modules say, and both before their defaults.
    """
    own = [name for script in source.scripts for name in script.classes]
    found = source.find_argument(_NUMBERS[0])
    found += [one for name in _NUMBERS[1:] for one in source.find_argument(name, own) if own]
    given = ((script, node) for script in source.scripts for node in script.find_set(_NUMBERS[0]))
    found += [one for script, node in given if (one := source.value(node, script))]
    found = [one for one in found if _counts(one.value)]
    found = [one for one in found if one.at.startswith(f"{source.entry}:")] or found
    found += [
        SourceValue(count, one.name) for one in source.configurations if (count := one.most("num_rounds"))
    ]
    found = found or [one for one in _defaults(source) if _counts(one.value)]
    return found[0] if len({one.value for one in found}) == 1 else None


def _defaults(source: Source) -> Iterator[SourceValue]:
    """Yield the rounds that classes of the job have by default, or over which one sends its model."""
    called = {call.name for call in source.calls}
    for script in source.scripts:
        for name in called & script.classes.keys():
            defaults = (value for word, value in script.classes[name].items() if word in _NUMBERS)
            yield from (one for value in defaults if (one := source.value(value, script)))
        for over in (loop for callee in _SENDS for loop in script.find_loops(callee)):
            if isinstance(over, ast.Call) and (found := _goes_over(source, over, script)):
                yield found
