"""What is wrong with a host's settings: one sentence a mistake, with the setting's name and the fix."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils.common.parameters import DEFAULT_TYPE_VALIDATORS

from rekindle import capsule
from rekindle.host.places import here
from rekindle.hostfacts import flaw
from rekindle.jobs import lease
from rekindle.records import RecordError
from rekindle.records.plan import FRAMEWORKS
from rekindle.solver.catalogue import builds

from . import of_jobs, of_slurm
from .folders import folders, missing
from .mistake import Mistake, Settings, Unknown, shown
from .names import PREFIX, SHORT, instead, misnamed

_FOR_RETIRE = {f"rekindle_{name}" for name in ("root", "tmpdir", "stop", "results", "lease_ends", "budget")}
"""All that retire.yml reads: nothing else may stand in the way of a lease's end."""
_TYPES = {
    "str": ("a text", "write a text, in quotes"),
    "bool": ("true or false", "write true or false"),
    "float": ("a number", "write a number, such as 20"),
    "list": ("a list", "write it as [one, two]"),
    "dict": ("a mapping", "write it as {name: value}"),
}


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
    settings = Settings(typed, called, jobs)
    checks = [_places, _free_space, of_jobs.jobs, of_jobs.examples, of_jobs.options, _times, _pins]
    checks += [partial(_folder, "rekindle_capsule", _flaw_of_capsule), of_slurm.slurm]
    if "environments" in stages:
        checks.append(partial(_folder, "rekindle_wheelhouse", _flaw_of_wheelhouse))
    found += [mistake for check in checks for mistake in check(settings)]
    return _first_of_root(found, variables)


def _first_of_root(found: list[Mistake], variables: Mapping[str, Any]) -> list[Mistake]:
    """Leave out what is said again of a TMPDIR that lies in the root."""
    inside = "rekindle_root" in str(variables.get("rekindle_tmpdir"))
    twice = inside and any(mistake.name == "rekindle_root" for mistake in found)
    return [mistake for mistake in found if not (twice and mistake.name == "rekindle_tmpdir")]


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
    if kind == "list":
        if strange := [item for item in converted if item is None or isinstance(item, (list, dict))]:
            return Mistake(name, f"{name} has {shown(strange[0])} in it, and takes texts.", f"{fix}.")
        converted = [str(item) for item in converted]
    return _chosen(name, converted, [str(choice) for choice in spec.get("choices", ())])


def _chosen(name: str, value: Any, choices: list[str]) -> Any:
    """Return ``value`` if it is one of the choices, or all its items are, or else the mistake."""
    if value == "False" and "off" in choices:  # which YAML reads as false, and Ansible takes for off
        return "off"
    for item in value if isinstance(value, list) else [value]:
        if choices and item not in choices:
            says = f"{name} is {shown(item)}" if item is value else f"{name} has {shown(item)} in it"
            return Mistake(name, f"{says}, which is not one of its choices.", instead(item, choices))
    return value


def _places(settings: Settings) -> Iterator[Mistake]:
    for name in ("rekindle_root", "rekindle_tmpdir"):
        if said := flaw(name, settings.values.get(name, "~")):
            yield Mistake(name, said.says, said.fix)
    if settings.values.get("rekindle_results") == "":
        says = "rekindle_results is not set, and no callback is there to name a folder for this run."
        fix = "set ANSIBLE_CALLBACKS_ENABLED=rekindle.flare.rekindle, or set rekindle_results."
        yield Mistake("rekindle_results", says, fix)
    for name in ("rekindle_results", "rekindle_wheelhouse", "rekindle_capsule"):
        value = settings.values.get(name, "")
        if _unfit(value):
            says = f"{name} is {value!r}, which sftp or Ansible would read more into."
            yield Mistake(name, says, "name another.")


def _unfit(value: str) -> bool:
    return not value.isprintable() or "$" in value


def _free_space(settings: Settings) -> Iterator[Mistake]:
    name = "rekindle_min_free_gb"
    if not 0 <= (value := settings.values.get(name, 0)) < math.inf:
        yield Mistake(name, f"{name} is {value}, and no disk has that free.", "write a number, such as 20.")


def _times(settings: Settings) -> Iterator[Mistake]:
    now = datetime.now(timezone.utc)
    for name in ("rekindle_lease_ends", "rekindle_budget"):
        value, called = settings.values.get(name, ""), settings.called(name)
        try:
            lease.deadline(**{"lease_ends": "", "budget": "", name.removeprefix(PREFIX): value}, started=now)
        except RecordError as error:
            yield Mistake(called, error.says.replace(name.removeprefix(PREFIX), called, 1), error.fix)


def _pins(settings: Settings) -> Iterator[Mistake]:
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


def _flaw_of_capsule(name: str, value: str) -> Mistake | None:
    try:
        capsule.whole(here(value))
    except RecordError as error:
        return Mistake(name, f"{name} is {value!r}, which is not a capsule: {error.says}", error.fix)
    return None


def _flaw_of_wheelhouse(name: str, value: str) -> Mistake | None:
    if any(re.fullmatch(r"[0-9a-f]{12}", lock) for lock in folders(here(value))):
        return None
    says = f"{name} is {value!r}, which is not a wheelhouse."
    return Mistake(name, says, f"fill it by rekindle bundle results/<run>/*/plan.json -o {value}.")


def _folder(
    name: str, flaw_of: Callable[[str, str], Mistake | None], settings: Settings
) -> Iterator[Mistake]:
    """Hold a setting to a folder of this machine, and what is in it to ``flaw_of``."""
    value = settings.values.get(name, "")
    if value and not _unfit(value) and (mistake := missing(name, value) or flaw_of(name, value)):
        yield mistake
