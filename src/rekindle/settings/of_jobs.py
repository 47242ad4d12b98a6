"""What is wrong with the jobs that are asked for: which, from where, and with which options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from rekindle.host.places import here
from rekindle.jobs import asked_as, checkout, expand, known_jobs, load_job, own_path
from rekindle.records import Job, RecordError
from rekindle.records.acceptance import JOBS as ACCEPTANCE

from .arguments import arguments
from .folders import names
from .mistake import Mistake, Settings, shown
from .names import instead


def jobs(settings: Settings) -> Iterator[Mistake]:
    """Return what is wrong with the jobs that are asked for."""
    name, known = "rekindle_jobs", known_jobs(settings.jobs)
    wanted = settings.values.get(name)
    if wanted == []:
        own = " or ".join(job for job in known if "/" not in job)
        yield Mistake(name, f"{name} is empty, and nothing would be proven.", f"name {own}.")
    by_name: dict[str, str] = {}
    for job in dict.fromkeys(wanted or ()):
        if own_path(job):
            yield from _own(settings, job, by_name)
            continue
        if job not in known:
            says = f"{name} names {job!r}, and there is no such job in {settings.jobs.name}/."
            lies = "job.yml" in names(here(job))
            yield Mistake(name, says, f"write {job}/job.yml." if lies else instead(job, known))
            continue
        try:
            for expanded in expand(settings.jobs, [job]):
                load_job(settings.jobs, expanded)
        except RecordError as error:
            yield Mistake(name, error.says, error.fix)


def _own(settings: Settings, job: str, by_name: dict[str, str]) -> Iterator[Mistake]:
    """Hold a job.yml to what can work, and its job's name to those before it, to which it is added."""
    try:
        called = load_job(settings.jobs, job).name
    except RecordError as error:
        yield Mistake("rekindle_jobs", error.says, error.fix)
        return
    if called in by_name:
        says = f"rekindle_jobs names {by_name[called]} and {job}, both of a job {called!r}."
        yield Mistake("rekindle_jobs", says, "write another name: in one of them.")
    by_name[called] = job


def examples(settings: Settings) -> Iterator[Mistake]:
    """Hold a folder to the examples that are asked for; what a URL has is seen when it is cloned."""
    name, jobs = "rekindle_nvflare_checkout", settings.values.get("rekindle_jobs") or []
    value = settings.values.get(name, "")
    if not value or "://" in value:
        return
    try:
        checked_out = checkout.named(value, settings.values.get("rekindle_nvflare"))
        known = known_jobs(settings.jobs)
        asked = expand(settings.jobs, (job for job in jobs if job in known))
        checked_out.require(load_job(settings.jobs, job) for job in asked)
    except RecordError as error:
        yield Mistake(name, error.says, error.fix)


def options(settings: Settings) -> Iterator[Mistake]:
    """Return what is wrong with the options that jobs are given."""
    name, known = "rekindle_job_arguments", known_jobs(settings.jobs)
    jobs = settings.values.get("rekindle_jobs")
    every = settings.values.get(name) or {}
    first = [job for mode, job in ACCEPTANCE.items() if mode == settings.values.get("rekindle_accept")]
    asked = [*first, *(jobs or known)]
    loaded = {asked_as(job): (job, code) for job, code in _loaded(settings, asked)} if every else {}
    for job, given in every.items():
        if not isinstance(given, dict):
            says = f"{name} has {shown(given)} for {job}, and takes a mapping."
            yield Mistake(name, says, f"write it as {{{job}: {{local_epoch: 2}}}}.")
        elif job in loaded:
            yield from arguments(loaded[job][0], job, given, loaded[job][1])
        elif jobs and job not in jobs:
            says = f"{name} has options for {job}, which is not in rekindle_jobs."
            yield Mistake(name, says, instead(job, loaded or known))


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
                yield job, path.parent
            elif job.example:
                there = checked_out.examples([job]) if checked_out else {}
                yield job, there.get(job.name, settings.jobs / job.name)
            else:
                yield job, settings.jobs / (job.code or job.name)
