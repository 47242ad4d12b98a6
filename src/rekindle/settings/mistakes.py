# SPDX-License-Identifier: Apache-2.0
"""Mistakes in a host's settings: one sentence each, with the setting's name and the fix."""

import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.module_utils.common.parameters import DEFAULT_TYPE_VALIDATORS

from rekindle import capsule
from rekindle.acceptance import read_norms
from rekindle.actions.base import read_list
from rekindle.host.paths import resolve_path
from rekindle.hostfacts import find_archive, find_path_flaw
from rekindle.jobs import lease
from rekindle.records import Complaint, RecordError
from rekindle.records.complaint import MissingError
from rekindle.records.misfits import find_near, suggest_instead
from rekindle.records.plan import FRAMEWORKS
from rekindle.records.text import list_few
from rekindle.solver.catalogue import list_builds

from . import job_mistakes
from .names import PREFIX, SHORT, find_misnamed, is_folder, list_folder
from .room import list_rooms
from .values import Settings, UnknownValue, format_value

_GPU = re.compile(r"\d+|(?:GPU|MIG)-[\w/-]+")
_PORTS = 1 << 16
_FOR_RETIRE = {f"rekindle_{name}" for name in ("root", "tmpdir", "stop", "results", "lease_ends", "budget")}
"""The settings that retire.yml reads; mistakes in others must not prevent a lease's end."""
_TYPES = {
    "str": ("a text", "write a text, in quotes"),
    "bool": ("true or false", "write true or false"),
    "int": ("a whole number", "write a whole number"),
    "float": ("a number", "write a number, such as 20"),
    "list": ("a list", "write it as [one, two]"),
    "dict": ("a mapping", "write it as {name: value}"),
}


def find_mistakes(
    variables: Mapping[str, Any],
    values: Mapping[str, Any],
    specs: Mapping[str, Mapping[str, Any]],
    jobs: Path,
    stages: Collection[str] = (),
) -> list[Complaint]:
    """Return the mistakes in the settings of one host.

    Args:
        variables: all of the host's, as they were written.
        values: by setting, as JSON after templates are evaluated; `UnknownValue` for one that cannot be.
        specs: by setting its ``type``, and any ``choices``, as Ansible specifies arguments.
        jobs: folder of the jobs.
        stages: roles of the play: retire reads few settings, and only environments reads the wheels.
    """

    def called(name: str) -> str:
        short = name.removeprefix(PREFIX)
        return short if short in SHORT and short in variables else name

    found: list[Complaint] = []
    for name, meant in find_misnamed(variables, specs):
        fix = f"write {meant} (see roles/settings)." if meant else "remove it (see roles/settings)."
        found.append(Complaint(f"{name} is set, which is not a setting.", fix))
    typed: dict[str, Any] = {}
    for name in specs:
        if name in values and ("retire" not in stages or name in _FOR_RETIRE):
            try:
                typed[name] = _converted(called(name), values[name], specs[name])
            except Complaint as mistake:
                found.append(mistake)
    joins = list_rooms(stages)
    settings = Settings(typed, called, jobs, (*(room.jobs for room in joins), "rekindle_jobs"))
    checks = [
        _places,
        _free_space,
        _numbers,
        job_mistakes.find_job_mistakes,
        job_mistakes.find_example_mistakes,
        job_mistakes.find_option_mistakes,
        job_mistakes.find_size_mistakes,
        _times,
        _pins,
        _norms,
    ]
    checks += [_capsule, _python_archive, *([_wheelhouse] if "environments" in stages else [])]
    for check in checks:
        try:
            found += check(settings)
        except RecordError as error:
            found.append(error)
    role = next((room.find_role(variables.get("group_names", ())) for room in joins), "")
    for room in list_rooms():
        found += room.check(typed, role)
    inside = "rekindle_root" in str(variables.get("rekindle_tmpdir"))
    if inside and any(mistake.message.startswith("rekindle_root ") for mistake in found):  # a mistake in both
        return [mistake for mistake in found if not mistake.message.startswith("rekindle_tmpdir ")]
    return found


def _converted(name: str, value: Any, spec: Mapping[str, Any]) -> Any:
    """Return ``value`` in its type, converted as Ansible converts the arguments of a task.

    Raises:
        Complaint: it cannot be converted, or is not one of the choices.
    """
    if isinstance(value, UnknownValue):
        template = "yntax error in template" in str(value)
        fix = "correct its braces." if template else "define what it refers to, or write a value."
        raise Complaint(f"{name} cannot be evaluated: {value}.", fix)
    kind, (what, fix) = spec["type"], _TYPES[spec["type"]]
    wrong = Complaint(f"{name} is {format_value(value)}, and has to be {what}.", f"{fix}.")
    if value is None or (kind == "str" and isinstance(value, (list, dict))):
        raise wrong
    try:
        converted = DEFAULT_TYPE_VALIDATORS[kind](read_list(value) if kind == "list" else value)
    except (TypeError, ValueError):
        raise wrong from None
    if kind == "list":
        if strange := [item for item in converted if item is None or isinstance(item, (list, dict))]:
            raise Complaint(f"{name} has {format_value(strange[0])} in it, and takes texts.", f"{fix}.")
        converted = [str(item) for item in converted]
    choices = [str(choice) for choice in spec.get("choices", ())]
    if converted == "False" and "off" in choices:  # YAML reads off as false
        return "off"
    for item in converted if isinstance(converted, list) else [converted]:
        if choices and item not in choices:
            message = (
                f"{name} is {format_value(item)}"
                if item is converted
                else f"{name} has {format_value(item)} in it"
            )
            raise Complaint(f"{message}, which is not one of its choices.", suggest_instead(item, choices))
    return converted


def _places(settings: Settings) -> Iterator[Complaint]:
    for name in ("rekindle_root", "rekindle_tmpdir"):
        if mistake := find_path_flaw(name, settings.values.get(name, "~")):
            yield mistake
    if settings.values.get("rekindle_results") == "":
        message = "rekindle_results is not set, and no callback is there to name a folder for this run."
        fix = "set ANSIBLE_CALLBACKS_ENABLED=rekindle.flare.rekindle, or set rekindle_results."
        yield Complaint(message, fix)
    for name in ("rekindle_results", "rekindle_wheelhouse", "rekindle_capsule"):
        value = settings.values.get(name, "")
        if _unfit(value):
            message = f"{name} is {value!r}, which sftp or Ansible would expand."
            yield Complaint(message, "name another folder.")


def _unfit(value: str) -> bool:
    return not value.isprintable() or "$" in value


def _free_space(settings: Settings) -> Iterator[Complaint]:
    free = settings.values.get("rekindle_min_free_gb", 0)
    if not 0 <= free < math.inf:
        message = f"rekindle_min_free_gb is {free}, and no disk has that free."
        yield Complaint(message, "write a number, such as 20.")


def _numbers(settings: Settings) -> Iterator[Complaint]:
    for gpu in settings.values.get("rekindle_gpus", ()):
        if not _GPU.fullmatch(gpu):
            message = f"rekindle_gpus has {gpu!r} in it, and takes indexes and UUIDs."
            yield Complaint(message, "write [0, 1], or leave it out for all.")
    for name, port in settings.values.items():
        if name.endswith("_port") and not 0 < port < _PORTS:
            yield Complaint(f"{name} is {port}, and ports are 1 to {_PORTS - 1}.", "write one of these.")


def _times(settings: Settings) -> Iterator[Complaint]:
    now = datetime.now(timezone.utc)
    for name in ("lease_ends", "budget", "max_age"):
        value = settings.values.get(f"{PREFIX}{name}", "")
        try:
            if name == "max_age":
                lease.find_oldest(value, now)
            else:
                lease.find_deadline(**{"lease_ends": "", "budget": "", name: value}, started=now)
        except RecordError as error:
            yield Complaint(error.message.replace(name, settings.called(f"{PREFIX}{name}"), 1), error.fix)


def _pins(settings: Settings) -> Iterator[Complaint]:
    name = "rekindle_pins"
    for framework, version in (settings.values.get(name) or {}).items():
        if framework not in FRAMEWORKS:
            message = f"{name} pins {framework!r}, and there is no such framework."
            yield Complaint(message, suggest_instead(framework, FRAMEWORKS))
        elif not isinstance(version, str):
            message = f"{name} pins {framework} to {format_value(version)}, which is not a text."
            yield Complaint(message, "write the version in quotes, such as '2.11.0'.")
        elif not (framework == "torch" and settings.values.get("rekindle_system_site")):
            known = dict.fromkeys(build.version for build in list_builds(framework))
            variants = {f"{build.version}+{build.variant}" for build in list_builds(framework)}
            if version not in variants.union(known):
                message = f"{name} pins {framework} to {version}, and there is no such build."
                yield Complaint(message, f"name one of {list_few([*known], 4)}.")


def _norms(settings: Settings) -> Iterator[Complaint]:
    value = settings.values.get("rekindle_norms", "")
    if value and not _unfit(value):
        try:
            read_norms(resolve_path(value))
        except MissingError as error:
            yield Complaint(f"rekindle_norms: {error.message}", "name a file that `rekindle accept` wrote.")


def _folder(settings: Settings, name: str) -> tuple[str, Path] | None:
    """Return a setting that names a folder of this machine, and the folder; None if it is not set.

    Raises:
        RecordError: it is no folder.
    """
    value = settings.values.get(name, "")
    if not value or _unfit(value):
        return None
    folder = resolve_path(value)
    if not is_folder(folder):
        siblings = (name for name in list_folder(folder.parent) if is_folder(folder.parent / name))
        meant = find_near(folder.name, siblings)
        fix = f"write {folder.with_name(meant)}." if meant else "name one that is."
        raise RecordError(f"{name} is {value!r}, and {folder} is not a folder here.", fix)
    return value, folder


def _capsule(settings: Settings) -> Iterator[Complaint]:
    if named := _folder(settings, "rekindle_capsule"):
        try:
            capsule.require_locks(named[1])
        except RecordError as error:
            message = f"rekindle_capsule is {named[0]!r}, which is not a capsule: {error.message}"
            yield Complaint(message, error.fix)


def _wheelhouse(settings: Settings) -> Iterator[Complaint]:
    if named := _folder(settings, "rekindle_wheelhouse"):
        value, folder = named
        if not any(re.fullmatch(r"[0-9a-f]{12}", name) for name in list_folder(folder)):
            message = f"rekindle_wheelhouse is {value!r}, which is not a wheelhouse."
            fill = f"rekindle bundle results/<run>/*/plan.json -o {shlex.quote(value)}"
            yield Complaint(message, f"fill it by {fill}.")


def _python_archive(settings: Settings) -> Iterator[Complaint]:
    value = settings.values.get("rekindle_python_archive", "")
    find_archive(value, "")
    source = value.partition("#")[0]
    if source and "://" not in source and not Path(source).expanduser().is_file():
        yield Complaint(f"rekindle_python_archive is {source!r}, which is not a file.", "name a file or URL.")
