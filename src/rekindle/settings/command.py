# SPDX-License-Identifier: Apache-2.0
"""The command that began a playbook, as it can be shown and typed again: without secrets."""

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.parsing.splitter import parse_kv

from rekindle.environments.indexes import mask_credentials
from rekindle.host.variables import is_secret
from rekindle.records import Command

_TYPED = "REKINDLE_TYPED"
"""Variable in which the ``rekindle`` command tells the callback its own words."""
_HIDDEN = "****"
_MODULE = "__main__.py"
"""Ends the path of ``python -m ansible playbook``."""


def format_command(
    arguments: Sequence[str], environ: Mapping[str, str], extra: Iterable[str], results: Path
) -> Command:
    """Return what was typed.

    Args:
        arguments: of this process, its program first.
        environ: has ``REKINDLE_TYPED`` where the ``rekindle`` command started it.
        extra: the values of all options ``-e``.
        results: folder of the run's results.
    """
    here = Path.cwd()
    words = shlex.split(environ[_TYPED]) if _TYPED in environ else _called(arguments)
    for value in extra:
        words = [_replaced(word, value, hide_secrets(value)) for word in words]
    folder = results.relative_to(here) if results.is_relative_to(here) else results
    return Command(words=tuple(words), folder=str(here), results=str(folder))


def _called(arguments: Sequence[str]) -> list[str]:
    program, *rest = arguments
    if Path(program).name == _MODULE:
        return [f"ansible-{rest[0]}", *rest[1:]]
    found = shutil.which(Path(program).name)
    on_path = found is not None and os.path.realpath(found) == os.path.realpath(program)
    return [Path(program).name if on_path else program, *rest]


def _replaced(word: str, value: str, instead: str) -> str:
    return word.removesuffix(value) + instead if word.endswith(value) else word


def hide_secrets(value: str) -> str:
    """Return a value of ``-e`` as Ansible reads it, with ``****`` in place of each secret."""
    if value.startswith(("@", "/", ".")):
        return value
    try:
        mapping = value.lstrip().startswith(("{", "["))
        given = yaml.safe_load(value) if mapping else parse_kv(value)
    except (yaml.YAMLError, AnsibleError, ValueError):
        return _HIDDEN
    shown = _shown(given)
    if shown == given:
        return value
    if mapping:
        return json.dumps(shown, default=str)
    return " ".join(
        f"{name}={text if text == _HIDDEN else shlex.quote(str(text))}" for name, text in shown.items()
    )


def _shown(given: Any) -> Any:
    if isinstance(given, Mapping):
        return {
            str(name): _HIDDEN if is_secret(str(name)) else _shown(value) for name, value in given.items()
        }
    if isinstance(given, list):
        return [_shown(value) for value in given]
    if isinstance(given, str):
        if given.lstrip().startswith(("{", "[")):
            with suppress(yaml.YAMLError):
                inner = yaml.safe_load(given)
                shown = _shown(inner)
                return given if shown == inner else json.dumps(shown, default=str)
        return mask_credentials(given) if "://" in given else given
    return given
