# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the jobs that are asked for, their checkout, and their options."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from rekindle.host.places import here
from rekindle.jobs import (
    asked_as,
    checkout,
    expand,
    folder_of,
    known_jobs,
    load_job,
    of_another_release,
    own_path,
    read_own,
    with_sizes,
)
from rekindle.records import Complaint, Job, RecordError
from rekindle.records.acceptance import JOBS as ACCEPTANCE
from rekindle.solver.catalogue import rules

from .names import content, instead
from .options import Option, parser_options
from .values import Settings, shown

_OF_JOB = {"{sites}", "{names}", "{devices}", "{rounds}"}
"""Placeholders of the sites, the GPUs and the ``rounds`` of job.yml in a job's command."""
_NUMBERS: dict[str, tuple[Callable[[str], object], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}


def jobs(settings: Settings) -> Iterator[Complaint]:
    """Yield the mistakes in the jobs that are asked for."""
    known = known_jobs(settings.jobs)
    if settings.values.get(settings.lists[0]) == []:
        own = " or ".join(job for job in known if "/" not in job)
        yield Complaint(f"{settings.lists[0]} is empty, and nothing would be proven.", f"name {own}.")
    for name in settings.lists:
        yield from _named(settings, name, known)


def _named(settings: Settings, name: str, known: list[str]) -> Iterator[Complaint]:
    by_name: dict[str, str] = {}
    for job in dict.fromkeys(settings.values.get(name) or ()):
        if not own_path(job) and job not in known:
            message = f"{name} names {job!r}, and there is no such job in {settings.jobs.name}/."
            yield Complaint(message, f"write ./{job}." if content(here(job)) else instead(job, known))
            continue
        try:
            called = [load_job(settings.jobs, expanded).name for expanded in expand(settings.jobs, [job])]
        except RecordError as error:
            yield error
            continue
        if path := own_path(job):
            release = settings.values.get("rekindle_nvflare") or rules().nvflare.version
            source = read_own(settings.jobs, path).source
            yield from of_another_release(source, release)
        if own_path(job) and (before := by_name.setdefault(called[0], job)) != job:
            message = f"{name} names {before} and {job}, both of a job {called[0]!r}."
            yield Complaint(message, "write another name: in one of them.")


def examples(settings: Settings) -> Iterator[Complaint]:
    """Require that a folder has the examples that are asked for; a URL is checked when it is cloned."""
    name, jobs = "rekindle_nvflare_checkout", settings.asked
    value = settings.values.get(name, "")
    if value and "://" not in value:
        checked_out = checkout.named(value, settings.values.get("rekindle_nvflare"))
        known = known_jobs(settings.jobs)
        asked = expand(settings.jobs, (job for job in jobs if job in known))
        checked_out.require(load_job(settings.jobs, job) for job in asked)
    yield from ()


def options(settings: Settings) -> Iterator[Complaint]:
    """Yield the mistakes in the options of jobs."""
    name, known = "rekindle_job_arguments", known_jobs(settings.jobs)
    jobs = settings.asked
    every = settings.values.get(name) or {}
    first = [job for mode, job in ACCEPTANCE.items() if mode == settings.values.get("rekindle_accept")]
    asked = [*first, *(jobs or known)]
    loaded = {asked_as(job): (job, code) for job, code in _loaded(settings, asked)} if every else {}
    for job, given in every.items():
        if not isinstance(given, dict):
            message = f"{name} has {shown(given)} for {job}, and takes a mapping."
            yield Complaint(message, f"write it as {{{job}: {{local_epoch: 2}}}}.")
        elif job in loaded:
            yield from _arguments(loaded[job][0], job, given, loaded[job][1])
        elif jobs and job not in jobs:
            message = f"{name} has options for {job}, which is not in {settings.lists[0]}."
            yield Complaint(message, instead(job, loaded or known))


def sizes(settings: Settings) -> Iterator[Complaint]:
    """Yield the mistakes in the sizes of jobs."""
    name = "rekindle_job_sizes"
    every = settings.values.get(name) or {}
    asked = settings.asked or known_jobs(settings.jobs)
    loaded = {asked_as(job): job for job, _ in _loaded(settings, asked)} if every else {}
    for job, given in every.items():
        if not isinstance(given, dict):
            message = f"{name} has {shown(given)} for {job}, and takes a mapping."
            yield Complaint(message, f"write it as {{{job}: {{rounds: 20}}}}.")
        elif job in loaded:
            try:
                with_sizes(loaded[job], given)
            except RecordError as error:
                yield error
        else:
            yield Complaint(f"{name} has sizes for {job}, which is not asked for.", instead(job, loaded))


def _loaded(settings: Settings, asked: Iterable[str]) -> Iterator[tuple[Job, Path]]:
    """Yield each job that can be read, with the folder of its code, which may not be there yet."""
    value, nvflare = (settings.values.get(f"rekindle_nvflare{suffix}") for suffix in ("_checkout", ""))
    checked_out = None
    if value and "://" not in value:
        with suppress(RecordError):
            checked_out = checkout.named(value, nvflare)
    for name in expand(settings.jobs, asked):
        with suppress(RecordError):
            job = load_job(settings.jobs, name)
            if path := own_path(name):
                yield job, folder_of(path)
            elif job.example:
                there = checked_out.examples([job]) if checked_out else {}
                yield job, there.get(job.name, settings.jobs / job.name)
            else:
                yield job, settings.jobs / (job.code or job.name)


def _arguments(job: Job, called: str, given: Mapping[str, Any], code: Path) -> Iterator[Complaint]:
    """Compare options with the parser of their job, if its code is there."""
    known = parser_options(code / job.command[0])
    ours = {option.lstrip("-") for option, value in pairwise(job.command) if value in _OF_JOB}
    for option, value in given.items():
        if wrong := _option(option, value, known, ours):
            yield Complaint(f"rekindle_job_arguments gives {called} {option}{wrong[0]}", wrong[1])


def _option(  # noqa: PLR0911 - one for each way to be wrong
    name: str, value: Any, known: Mapping[str, Option] | None, ours: Collection[str]
) -> tuple[str, str] | None:
    """Return the mistake in an option as the end of a sentence, and the fix; None if there is none."""
    if name in ours:
        return ", which Rekindle itself sets.", "leave it out; job.yml has sites and rounds."
    if known is not None and name not in known:
        others = [option for option in known if option not in ours]
        return ", which its job.py does not know.", instead(name, others)
    given, option = f" as {shown(value)}", (known or {}).get(name, Option("any"))
    items = value if isinstance(value, list) else [value]
    if any(item is None or isinstance(item, (list, dict)) for item in items):
        return f"{given}, which no option can be.", "write a text, a number, true, or a list of texts."
    if value is False or option.shape == "any" or (option.shape == "flag" and value is True):
        return None
    if option.shape == "flag":
        return f"{given}, which is a flag.", "write true or false."
    if value is True:
        return f"{given}, which is not a flag.", "write its value."
    if isinstance(value, list) and option.shape != "many":
        return f"{given}, which takes one value.", "write one."
    number, what = _NUMBERS.get(option.kind, (str, ""))
    for item in items:
        try:
            converted = number(str(item))
        except ValueError:
            return f"{given}, and its job.py takes {what}.", f"write {what}."
        if option.choices and converted not in option.choices:
            return f"{given}, which is not one of its choices.", instead(str(item), map(str, option.choices))
    return None
