# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the jobs that are asked for, their checkout, and their options."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from rekindle.host.paths import resolve_path
from rekindle.jobs import (
    checkout,
    expand_names,
    find_job_flaws,
    list_jobs,
    load_job,
    locate_folder,
    name_arguments,
    read_own,
    resolve_own,
    set_sizes,
)
from rekindle.jobs.source import Source
from rekindle.records import Complaint, Job, RecordError
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.records.misfits import suggest_instead
from rekindle.solver.catalogue import load_rules

from .names import list_folder
from .values import Settings, format_value

_OF_JOB = {"{sites}", "{names}", "{devices}", "{rounds}"}
"""Placeholders of the sites, the GPUs and the ``rounds`` of job.yml in a job's command."""


def find_job_mistakes(settings: Settings) -> Iterator[Complaint]:
    """Yield the mistakes in the jobs that are asked for."""
    known = list_jobs(settings.jobs)
    if settings.values.get(settings.lists[0]) == [] and not settings.values.get("rekindle_fabric"):
        own = " or ".join(job for job in known if "/" not in job)
        yield Complaint(f"{settings.lists[0]} is empty, and nothing would be proven.", f"name {own}.")
    for name in settings.lists:
        yield from _named(settings, name, known)


def _named(settings: Settings, name: str, known: list[str]) -> Iterator[Complaint]:
    by_name: dict[str, str] = {}
    for job in dict.fromkeys(settings.values.get(name) or ()):
        if not resolve_own(job) and job not in {*known, *ACCEPTANCE.values()}:
            message = f"{name} names {job!r}, and there is no such job in {settings.jobs.name}/."
            yield Complaint(
                message,
                f"write ./{job}." if job and list_folder(resolve_path(job)) else suggest_instead(job, known),
            )
            continue
        try:
            own = read_own(settings.jobs, path) if (path := resolve_own(job)) else None
            for expanded in () if own else expand_names(settings.jobs, [job]):
                load_job(settings.jobs, expanded)
        except RecordError as error:
            yield error
            continue
        if own is None:
            continue
        release = settings.values.get("rekindle_nvflare") or load_rules().nvflare.version
        given = (settings.values.get("rekindle_job_arguments") or {}).get(own.job.name) or ()
        yield from find_job_flaws(own.source, own.job, release, given)
        if (before := by_name.setdefault(own.job.name, job)) != job:
            message = f"{name} names {before} and {job}, both of a job {own.job.name!r}."
            yield Complaint(message, "write another name: in one of them.")


def find_example_mistakes(settings: Settings) -> Iterator[Complaint]:
    """Require that a folder has the examples that are asked for; a URL is checked when it is cloned."""
    name, jobs = "rekindle_nvflare_checkout", settings.asked
    value = settings.values.get(name, "")
    if value and "://" not in value:
        checked_out = checkout.provide_checkout(value, settings.values.get("rekindle_nvflare"))
        known = list_jobs(settings.jobs)
        asked = expand_names(settings.jobs, (job for job in jobs if job in known))
        checked_out.require(load_job(settings.jobs, job) for job in asked)
    yield from ()


def find_option_mistakes(settings: Settings) -> Iterator[Complaint]:
    """Yield the mistakes in the options of jobs."""
    name, known = "rekindle_job_arguments", list_jobs(settings.jobs)
    jobs = settings.asked
    every = settings.values.get(name) or {}
    first = [job for mode, job in ACCEPTANCE.items() if mode == settings.values.get("rekindle_accept")]
    asked = [*first, *(jobs or known)]
    loaded = {name_arguments(job): (job, code) for job, code in _loaded(settings, asked)} if every else {}
    for job, given in every.items():
        if not isinstance(given, dict):
            message = f"{name} has {format_value(given)} for {job}, and takes a mapping."
            yield Complaint(message, f"write it as {{{job}: {{local_epoch: 2}}}}.")
        elif job in loaded:
            yield from _arguments(loaded[job][0], job, given, loaded[job][1])
        elif jobs and job not in jobs:
            message = f"{name} has options for {job}, which is not in {settings.lists[0]}."
            yield Complaint(message, suggest_instead(job, loaded or known))


def find_size_mistakes(settings: Settings) -> Iterator[Complaint]:
    """Yield the mistakes in the sizes of jobs."""
    name = "rekindle_job_sizes"
    every = settings.values.get(name) or {}
    asked = settings.asked or list_jobs(settings.jobs)
    loaded = {name_arguments(job): job for job, _ in _loaded(settings, asked)} if every else {}
    for job, given in every.items():
        if not isinstance(given, dict):
            message = f"{name} has {format_value(given)} for {job}, and takes a mapping."
            yield Complaint(message, f"write it as {{{job}: {{rounds: 20}}}}.")
        elif job in loaded:
            try:
                set_sizes(loaded[job], given)
            except RecordError as error:
                yield error
        else:
            yield Complaint(
                f"{name} has sizes for {job}, which is not asked for.", suggest_instead(job, loaded)
            )


def _loaded(settings: Settings, asked: Iterable[str]) -> Iterator[tuple[Job, Path]]:
    """Yield each job that can be read, with the folder of its code, which may not be there yet."""
    value, nvflare = (settings.values.get(f"rekindle_nvflare{suffix}") for suffix in ("_checkout", ""))
    checked_out = None
    if value and "://" not in value:
        with suppress(RecordError):
            checked_out = checkout.provide_checkout(value, nvflare)
    for name in expand_names(settings.jobs, asked):
        with suppress(RecordError):
            job = load_job(settings.jobs, name)
            if path := resolve_own(name):
                yield job, locate_folder(path)
            elif job.example:
                there = checked_out.examples([job]) if checked_out else {}
                yield job, there.get(job.name, settings.jobs / job.name)
            else:
                yield job, settings.jobs / (job.code or job.name)


def _arguments(job: Job, called: str, given: Mapping[str, Any], code: Path) -> Iterator[Complaint]:
    """Compare the names of options with those of their job, if its code is there and shows them.

    What an option takes, its job.py itself says as its run begins.
    """
    script = Source(code, job.command[0]).script(job.command[0])
    known = script.options if script else None
    ours = {option.lstrip("-") for option, value in pairwise(job.command) if value in _OF_JOB}
    for option, value in given.items():
        items = value if isinstance(value, list) else [value]
        if option in ours:
            message = f"rekindle_job_arguments gives {called} {option}, which Rekindle itself sets."
            yield Complaint(message, "leave it out; job.yml has sites and rounds.")
        elif known is not None and option not in known:
            message = f"rekindle_job_arguments gives {called} {option}, which its job.py does not know."
            yield Complaint(message, suggest_instead(option, sorted(known - ours)))
        elif any(item is None or isinstance(item, (list, dict)) for item in items):
            written = format_value(value)
            message = f"rekindle_job_arguments gives {called} {option} as {written}, which no option can be."
            yield Complaint(message, "write a text, a number, true, or a list of texts.")
