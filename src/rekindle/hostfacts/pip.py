"""What pip is configured with on a host, in pip's own order of precedence."""

from __future__ import annotations

import configparser
import re

from rekindle.records import Probe

from .system import Frames, variables

_GLOBAL = ("pip-xdg", "pip-etc")
_USER = ("pip-legacy", "pip-user")
_SECTIONS = ("global", "install")


def settings(frames: Frames) -> tuple[dict[str, str], tuple[Probe, ...]]:
    """Return the settings of ``pip install`` by option, passwords masked, and the files that do not parse.

    As pip's ``configuration`` does it: later files win within a section, ``[install]`` wins over
    ``[global]``, PIP_* variables win over both, and an empty value counts as absent. The user's files are
    not read where PIP_CONFIG_FILE exists, and none is where it names /dev/null.
    """
    environment = variables(frames["pip-env"].text)
    own_file = environment.pop("PIP_CONFIG_FILE", None)
    if own_file == "/dev/null":
        files: tuple[str, ...] = ()
    elif own_file and frames["pip-file"].answered:
        files = (*_GLOBAL, "pip-file")
    else:
        files = (*_GLOBAL, *_USER)

    problems = []
    sections: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for name in files:
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(frames[name].text if frames[name].answered else "")
        except configparser.Error as error:
            problems.append(
                Probe(
                    name=name, says=f"pip cannot read this file: {_masked(' '.join(error.message.split()))}."
                )
            )
            continue
        for section in _SECTIONS:
            if parser.has_section(section):
                sections[section].update({_option(key): value for key, value in parser.items(section)})

    layers = [*sections.values(), {_option(key[len("PIP_") :]): value for key, value in environment.items()}]
    merged = {
        key: _masked(" ".join(value.split())) for layer in layers for key, value in layer.items() if value
    }
    return merged, tuple(problems)


def _option(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _masked(text: str) -> str:
    """Hide what stands before an @ in a URL but for a user's name, as pip's own messages do."""
    return re.sub(
        r"://(\S*)@", lambda found: f"://{found[1].split(':')[0] + ':' if ':' in found[1] else ''}****@", text
    )
