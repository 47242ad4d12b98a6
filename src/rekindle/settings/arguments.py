"""The options of ``rekindle_job_arguments``, held against the parser of the job that gets them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from rekindle.records import Job

from .mistake import Mistake, shown
from .names import instead
from .options import Option, options

_OURS = ("client_ids", "gpu", "num_rounds")
"""Options that job.py gets from the driver, by the sites, the GPUs and the ``rounds`` of job.yml."""
_OF_JOB = {"{sites}", "{rounds}"}
"""By which an example's command gets the same."""
_NUMBERS: dict[str, tuple[Callable[[str], object], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}


def arguments(job: Job, called: str, given: Mapping[str, Any], code: Path) -> Iterator[Mistake]:
    """Return what is wrong with the options that an inventory gives a job.

    Args:
        job: its description.
        called: its name in that setting.
        given: values by option.
        code: folder of its code; nothing is said against its parser where it is not there.
    """
    command = job.example.command if job.example else ("job.py",)
    known = options(code / command[0])
    filled = {option.lstrip("-") for option, value in pairwise(command) if value in _OF_JOB}
    ours = filled if job.example else _OURS
    for option, value in given.items():
        if said := _option(called, option, value, known, ours):
            yield Mistake("rekindle_job_arguments", f"rekindle_job_arguments gives {said[0]}", said[1])


def _option(  # noqa: PLR0911 - one for each way to be wrong
    job: str, name: str, value: Any, known: Mapping[str, Option] | None, ours: Collection[str]
) -> tuple[str, str] | None:
    """Return what is wrong with an option, the end of a sentence, and the fix; None if nothing is."""
    if name in ours:
        return f"{job} {name}, which Rekindle itself sets.", "leave it out; job.yml has sites and rounds."
    if known is not None and name not in known:
        others = [job_option for job_option in known if job_option not in ours]
        return f"{job} {name}, which its job.py does not know.", instead(name, others)
    here, option = f"{job} {name} as {shown(value)}", (known or {}).get(name, Option("any"))
    items = value if isinstance(value, list) else [value]
    if any(item is None or isinstance(item, (list, dict)) for item in items):
        return f"{here}, which no option can be.", "write a text, a number, true, or a list of texts."
    if value is False or option.shape == "any":
        return None
    if (option.shape == "flag") != (value is True):
        if option.shape == "flag":
            return f"{here}, which is a flag.", "write true or false."
        return f"{here}, which is not a flag.", "write its value."
    if isinstance(value, list) and option.shape != "many":
        return f"{here}, which takes one value.", "write one."
    return None if option.shape == "flag" else _values(here, items, option)


def _values(here: str, items: list[Any], option: Option) -> tuple[str, str] | None:
    number, what = _NUMBERS.get(option.kind, (str, ""))
    for item in items:
        try:
            converted = number(str(item))
        except ValueError:
            return f"{here}, and its job.py takes {what}.", f"write {what}."
        if option.choices and converted not in option.choices:
            return f"{here}, which is none of its choices.", instead(str(item), map(str, option.choices))
    return None
