"""What is wrong with a host's settings: one sentence a mistake, with the setting's name and the fix."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.module_utils.common.parameters import DEFAULT_TYPE_VALIDATORS

from rekindle import capsule
from rekindle.hostfacts import flaw
from rekindle.jobs import checkout, expand, known_jobs, lease, load_job, own_path
from rekindle.records import RecordError
from rekindle.records.plan import FRAMEWORKS
from rekindle.solver.catalogue import builds, rules

from .arguments import arguments
from .mistake import Mistake, Unknown, shown
from .names import PREFIX, SHORT, instead, misnamed, near

_FOR_RETIRE = {f"rekindle_{name}" for name in ("root", "tmpdir", "stop", "results", "lease_ends", "budget")}
"""All that retire.yml reads: nothing else may stand in the way of a lease's end."""
_TYPES = {
    "str": ("a text", "write a text, in quotes"),
    "bool": ("true or false", "write true or false"),
    "float": ("a number", "write a number, such as 20"),
    "list": ("a list", "write it as [one, two]"),
    "dict": ("a mapping", "write it as {name: value}"),
}


@dataclass(frozen=True)
class _Settings:
    values: Mapping[str, Any]
    """By setting, of its type; those that are not are left out."""
    called: Callable[[str], str]
    jobs: Path


def mistakes(
    variables: Mapping[str, Any],
    values: Mapping[str, Any],
    specs: Mapping[str, Mapping[str, Any]],
    jobs: Path,
    stages: Collection[str] = (),
) -> list[Mistake]:
    """Return what is wrong with the settings of one host.

    Args:
        variables: all of the host's, as they were written.
        values: by setting, as JSON has them once templates are filled in; `Unknown` where one cannot be.
        specs: by setting its ``type``, and ``choices`` where it has any, as Ansible specifies arguments.
        jobs: folder of the jobs.
        stages: roles of the play: retire reads few settings, and the wheels are environments' alone.
    """

    def called(name: str) -> str:
        short = name.removeprefix(PREFIX)
        return short if short in SHORT and short in variables else name

    found = []
    for name, meant in misnamed(variables, specs):
        fix = f"write {meant} (see roles/settings)." if meant else "remove it (see roles/settings)."
        found.append(Mistake(name, f"{name} is set, which is not a setting.", fix))
    read = [name for name in specs if name in values and ("retire" not in stages or name in _FOR_RETIRE)]
    typed: dict[str, Any] = {}
    for name in read:
        value = _converted(called(name), values[name], specs[name])
        if isinstance(value, Mistake):
            found.append(value)
        else:
            typed[name] = value
    settings = _Settings(typed, called, jobs)
    checks = [_places, _free_space, _jobs, _checkout, _arguments, _times]
    checks += [_frameworks, _pins, _nvflare, _capsule]
    if "environments" in stages:
        checks.append(_wheelhouse)
    found += [one for check in checks for one in check(settings)]
    return _first_of_root(found, variables)


def _first_of_root(found: list[Mistake], variables: Mapping[str, Any]) -> list[Mistake]:
    """Leave out what is said again of a TMPDIR that lies in the root."""
    inside = "rekindle_root" in str(variables.get("rekindle_tmpdir"))
    twice = inside and any(one.name == "rekindle_root" for one in found)
    return [one for one in found if not (twice and one.name == "rekindle_tmpdir")]


def _converted(name: str, value: Any, spec: Mapping[str, Any]) -> Any:
    """Return ``value`` as its type has it, as Ansible converts the arguments of a task, or the mistake."""
    if isinstance(value, Unknown):
        return Mistake(
            name, f"{name} cannot be told: {value}.", "define what it refers to, or write a value."
        )
    kind, (what, fix) = spec["type"], _TYPES[spec["type"]]
    wrong = Mistake(name, f"{name} is {shown(value)}, and has to be {what}.", f"{fix}.")
    if value is None or (kind == "str" and isinstance(value, (list, dict))):
        return wrong
    try:
        converted = DEFAULT_TYPE_VALIDATORS[kind](value)
    except (TypeError, ValueError):
        return wrong
    if kind != "list":
        return converted
    if strange := [one for one in converted if one is None or isinstance(one, (list, dict))]:
        return Mistake(name, f"{name} has {shown(strange[0])} in it, and takes texts.", f"{fix}.")
    return [str(one) for one in converted]


def _places(settings: _Settings) -> Iterator[Mistake]:
    for name in ("rekindle_root", "rekindle_tmpdir"):
        if said := flaw(name, settings.values.get(name, "~")):
            yield Mistake(name, said.says, said.fix)
    if settings.values.get("rekindle_results") == "":
        says = "rekindle_results is not set, and no callback is there to name a folder for this run."
        plugins = "set ANSIBLE_CALLBACK_PLUGINS to the folder plugins/callback beside roles/"
        fix = f"{plugins} and ANSIBLE_CALLBACKS_ENABLED=rekindle, or set rekindle_results."
        yield Mistake("rekindle_results", says, fix)
    for name in ("rekindle_results", "rekindle_wheelhouse", "rekindle_capsule"):
        value = settings.values.get(name, "")
        if _unfit(value):
            says = f"{name} is {value!r}, which sftp or Ansible would read more into."
            yield Mistake(name, says, "name another.")


def _unfit(value: str) -> bool:
    return not value.isprintable() or "$" in value


def _free_space(settings: _Settings) -> Iterator[Mistake]:
    name = "rekindle_min_free_gb"
    if not 0 <= (value := settings.values.get(name, 0)) < math.inf:
        yield Mistake(name, f"{name} is {value}, and no disk has that free.", "write a number, such as 20.")


def _known_jobs(settings: _Settings) -> list[str]:
    return known_jobs(settings.jobs)


def _jobs(settings: _Settings) -> Iterator[Mistake]:
    name, known = "rekindle_jobs", _known_jobs(settings)
    wanted = settings.values.get(name)
    if wanted == []:
        own = " or ".join(one for one in known if "/" not in one)
        yield Mistake(name, f"{name} is empty, and nothing would be proven.", f"name {own}.")
    by_name: dict[str, str] = {}
    for job in dict.fromkeys(wanted or ()):
        if own_path(job):
            yield from _own(settings, job, by_name)
            continue
        if job not in known:
            says = f"{name} names {job!r}, and there is no such job in {settings.jobs.name}/."
            lies = "job.yml" in _names(_here(job))
            yield Mistake(name, says, f"write {job}/job.yml." if lies else instead(job, known))
            continue
        try:
            for one in expand(settings.jobs, [job]):
                load_job(settings.jobs, one)
        except RecordError as error:
            yield Mistake(name, error.says, error.fix)


def _own(settings: _Settings, job: str, by_name: dict[str, str]) -> Iterator[Mistake]:
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


def _checkout(settings: _Settings) -> Iterator[Mistake]:
    """Hold a folder to the examples that are asked for; what a URL has is seen when it is cloned."""
    name, jobs = "rekindle_nvflare_checkout", settings.values.get("rekindle_jobs") or []
    value = settings.values.get(name, "")
    if not value or "://" in value:
        return
    try:
        found = checkout.named(value, settings.values.get("rekindle_nvflare"))
        known = known_jobs(settings.jobs)
        asked = expand(settings.jobs, (job for job in jobs if job in known))
        found.hold(load_job(settings.jobs, job) for job in asked)
    except RecordError as error:
        yield Mistake(name, error.says, error.fix)


def _arguments(settings: _Settings) -> Iterator[Mistake]:
    name, jobs, known = "rekindle_job_arguments", settings.values.get("rekindle_jobs"), _known_jobs(settings)
    for job, given in (settings.values.get(name) or {}).items():
        if jobs and job not in (asked := [_called(settings, one) for one in jobs]):
            says = f"{name} has options for {job}, which is not in rekindle_jobs."
            known_ones = [one for one in asked if one in known or one not in jobs]
            yield Mistake(name, says, instead(job, known_ones or known))
        elif not isinstance(given, dict):
            says = f"{name} has {shown(given)} for {job}, and takes a mapping."
            yield Mistake(name, says, f"write it as {{{job}: {{local_epoch: 2}}}}.")
        elif job in known:
            yield from arguments(settings.jobs, job, given)


def _called(settings: _Settings, asked: str) -> str:
    """Return what rekindle_job_arguments calls a job: as rekindle_jobs does, or by the name in job.yml."""
    if own_path(asked):
        with suppress(RecordError):
            return load_job(settings.jobs, asked).name
    return asked


def _times(settings: _Settings) -> Iterator[Mistake]:
    now = datetime.now(timezone.utc)
    for name in ("rekindle_lease_ends", "rekindle_budget"):
        value, called = settings.values.get(name, ""), settings.called(name)
        try:
            lease.deadline(**{"lease_ends": "", "budget": "", name.removeprefix(PREFIX): value}, started=now)
        except RecordError as error:
            yield Mistake(called, error.says.replace(name.removeprefix(PREFIX), called, 1), error.fix)


def _frameworks(settings: _Settings) -> Iterator[Mistake]:
    name = "rekindle_frameworks"
    for framework in settings.values.get(name, ()):
        if framework not in FRAMEWORKS:
            says = f"{name} names {framework!r}, and there is no such framework."
            yield Mistake(name, says, instead(framework, FRAMEWORKS))


def _pins(settings: _Settings) -> Iterator[Mistake]:
    name = "rekindle_pins"
    for framework, version in (settings.values.get(name) or {}).items():
        if framework not in FRAMEWORKS:
            says = f"{name} pins {framework!r}, and there is no such framework."
            yield Mistake(name, says, instead(framework, FRAMEWORKS))
        elif not isinstance(version, str):
            says = f"{name} pins {framework} to {shown(version)}, which is not a text."
            yield Mistake(name, says, "write the version in quotes, such as '2.11.0'.")
        elif not (framework == "torch" and settings.values.get("rekindle_system_site")):
            known = dict.fromkeys(build.version for build in builds(framework))
            whole = {f"{build.version}+{build.variant}" for build in builds(framework)}
            if version not in whole.union(known):
                says = f"{name} pins {framework} to {version}, and there is no such build."
                yield Mistake(name, says, instead(version, known))


def _nvflare(settings: _Settings) -> Iterator[Mistake]:
    name, known = "rekindle_nvflare", rules().nvflare.releases
    if (value := settings.values.get(name)) is not None and value not in known:
        yield Mistake(name, f"{name} is {value!r}, and nothing is locked with it.", instead(value, known))


def _capsule(settings: _Settings) -> Iterator[Mistake]:
    yield from _folder(settings, "rekindle_capsule", _flaw_of_capsule)


def _flaw_of_capsule(name: str, value: str) -> Mistake | None:
    try:
        capsule.whole(_here(value))
    except RecordError as error:
        return Mistake(name, f"{name} is {value!r}, which is not a capsule: {error.says}", error.fix)
    return None


def _wheelhouse(settings: _Settings) -> Iterator[Mistake]:
    yield from _folder(settings, "rekindle_wheelhouse", _flaw_of_wheelhouse)


def _flaw_of_wheelhouse(name: str, value: str) -> Mistake | None:
    if any(re.fullmatch(r"[0-9a-f]{12}", lock) for lock in _folders(_here(value))):
        return None
    says = f"{name} is {value!r}, which is not a wheelhouse."
    return Mistake(name, says, f"fill it by rekindle bundle results/<run>/*/plan.json -o {value}.")


def _folder(
    settings: _Settings, name: str, flaw_of: Callable[[str, str], Mistake | None]
) -> Iterator[Mistake]:
    """Hold a setting to a folder of this machine, and what is in it to ``flaw_of``."""
    value = settings.values.get(name, "")
    if value and not _unfit(value) and (mistake := _missing(name, value) or flaw_of(name, value)):
        yield mistake


def _here(value: str) -> Path:
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError:  # there is no such user
        return Path(value).absolute()


def _folders(folder: Path) -> list[str]:
    """Return the names of the folders in one; of one that cannot be read, none."""
    try:
        return [name for name in _names(folder) if (folder / name).is_dir()]
    except OSError:
        return []


def _names(folder: Path) -> list[str]:
    """Return what a folder has; of one that cannot be read, nothing."""
    try:
        return [path.name for path in folder.iterdir()]
    except (OSError, ValueError):
        return []


def _missing(name: str, value: str) -> Mistake | None:
    """Return the mistake that ``value`` is not a folder of this machine."""
    folder = _here(value)
    try:
        if folder.is_dir():
            return None
    except OSError:
        pass  # one that may not be looked into, or a name longer than names are
    meant = near(folder.name, _folders(folder.parent))
    fix = f"write {folder.with_name(meant)}." if meant else "name one that is."
    return Mistake(name, f"{name} is {value!r}, and {folder} is not a folder here.", fix)
