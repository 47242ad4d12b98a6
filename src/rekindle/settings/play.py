# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the settings as Ansible has them: of one host, and of all hosts of a play."""

import functools
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.parameters import DEFAULT_TYPE_VALIDATORS
from ansible.template import Templar

from rekindle.actions.base import read_list
from rekindle.capsule.wheelhouse import require_files
from rekindle.host import folders
from rekindle.records import Complaint, RecordError
from rekindle.records.base import require_folder
from rekindle.records.layout import host_in, plan_in
from rekindle.records.text import list_few
from rekindle.results.links import refuse_links, refuse_others
from rekindle.results.seal import OtherSealError, find_seal_trouble

from .mistakes import find_mistakes
from .values import UnknownValue

_PLACE = re.compile(r"/[^\n]+:\d+:\d+")
_SPECS = "roles/settings/meta/argument_specs.yml"


@functools.cache
def read_specifications(site: Path) -> dict[str, dict[str, Any]]:
    """Return the settings that the role declares; ``site`` has roles/ and flare_jobs/."""
    declared = yaml.safe_load((site / _SPECS).read_text(encoding="utf-8"))["argument_specs"]
    options: dict[str, dict[str, Any]] = declared["main"]["options"]
    return options


def find_host_mistakes(
    variables: Mapping[str, Any], fill: Callable[[Any], Any], site: Path, stages: list[str]
) -> list[Complaint]:
    """Return the mistakes in the settings of one host.

    Args:
        variables: all of the host's, as Ansible has them.
        fill: returns a value with its templates filled in, or raises AnsibleError.
        site: folder that has roles/ and flare_jobs/.
        stages: roles of the play.
    """
    known = read_specifications(site)
    values = {name: _value(variables[name], fill) for name in known if name in variables}
    return find_mistakes(variables, values, known, site / "flare_jobs", stages)


def find_play_mistakes(play: Any, results: Path, site: Path) -> list[str]:
    """Return a line for each mistake in the settings of a play of Ansible's, with the hosts that have it.

    A results folder with links or others' files in it, or with another's seal, is one for all of them.

    Args:
        play: before its start.
        results: folder of the run's results.
        site: folder that has roles/ and flare_jobs/.
    """
    manager, loader = play.get_variable_manager(), play.get_loader()
    stages = [role.get_name(include_role_fqcn=False) for role in play.get_roles()]
    hosts_of: dict[str, list[str]] = {}
    try:
        if os.path.lexists(results):
            require_folder(results)
        refuse_others(results)
        refuse_links(results)
        if isinstance(trouble := find_seal_trouble(results), OtherSealError):
            raise RecordError(trouble.message, "name another folder in rekindle_results.")
    except RecordError as error:
        return [str(error)]
    for host in manager._inventory.get_hosts(play.hosts):
        try:
            variables = manager.get_vars(play=play, host=host)
            templar = Templar(loader=loader, variables=variables)
            found = find_host_mistakes(variables, templar.template, site, stages)
            if not found and "environments" in stages and "plan" not in stages:
                _check_wheelhouse(variables, templar.template, results / host.name)
        except AnsibleError as error:
            vault = "vault" in str(error).lower()
            fix = "give the vault's password: --ask-vault-pass." if vault else "correct the inventory."
            found = [Complaint(f"Its variables cannot be read: {_line(error)}.", fix)]
        except RecordError as error:
            found = [error]
        for mistake in found:
            hosts_of.setdefault(" ".join(str(mistake).splitlines()), []).append(host.name)
    return [f"{list_few(names, 3)}: {mistake}" for mistake, names in hosts_of.items()]


def refuse_leaving_out(given: Mapping[str, Any], site: Path) -> list[str]:
    """Return a message for each of Ansible's options that would leave out tasks: 0 means that all is proven.

    No task has a tag, so only Ansible's own tags skip any; a stage's name as a tag would do nothing.

    Args:
        given: options of the command line.
        site: folder that has roles/.
    """
    stages = {path.name for path in (site / "roles").iterdir()}
    options = {
        "--tags": set(given["tags"]) != {"all"},
        "--skip-tags": {"all", "always", "tagged", "untagged"}.union(stages) & set(given["skip_tags"]),
        "--start-at-task": given["start_at_task"],
    }
    return [
        f"{option} leaves out tasks, and nothing would be proven. Fix: leave it out; "
        "playbooks/ has each stage alone."
        for option, is_given in options.items()
        if is_given
    ]


def find_run(play: Any) -> tuple[str, list[str]]:
    """Return the results folder of a play and the command at its end, as its first host has them.

    Either is empty where it is not set, or cannot be evaluated, which `find_play_mistakes` reports.
    """
    manager = play.get_variable_manager()
    host = next(iter(manager._inventory.get_hosts(play.hosts)), None)
    try:
        known = manager.get_vars(play=play, host=host)
    except AnsibleError:
        return "", []
    fill = Templar(play.get_loader(), known).template
    values = {name: _value(known.get(f"rekindle_{name}"), fill) for name in ("results", "on_end")}
    values = {name: value for name, value in values.items() if not isinstance(value, UnknownValue)}
    command = values.get("on_end") or []
    return values.get("results") or "", [
        str(word) for word in DEFAULT_TYPE_VALIDATORS["list"](read_list(command))
    ]


def _check_wheelhouse(variables: Mapping[str, Any], fill: Callable[[Any], Any], home: Path) -> None:
    """Compare a wheelhouse with an existing plan.

    Raises:
        RecordError: it lacks wheels, or the plan cannot be read.
    """
    wheelhouse, kept = (
        _value(variables.get(f"rekindle_{name}", ""), fill) for name in ("wheelhouse", "capsule")
    )
    if wheelhouse and (home / folders.PLAN_RECORD).exists():
        capsule = Path(kept).expanduser() if kept else None
        require_files(home, plan_in(home), host_in(home), Path(wheelhouse).expanduser(), capsule)


def _value(given: Any, fill: Callable[[Any], Any]) -> Any:
    """Return ``given`` as JSON, without Ansible's tags."""
    try:
        return json.loads(json.dumps(fill(given), default=str))
    except (AnsibleError, TypeError, ValueError) as error:
        return UnknownValue(_line(error))


def _line(error: Exception) -> str:
    """Return what Ansible says, with the place in a file where it knows one."""
    places = [str(getattr(one, "obj", "")) for one in (error, error.__context__)]
    says = " ".join(str(error).split()).rstrip(".")
    place = next(filter(_PLACE.fullmatch, places), "")
    return f"{says} ({place})" if place else says
