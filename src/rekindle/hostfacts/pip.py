"""What pip is configured with on a host, in pip's own order of precedence."""

import configparser

from rekindle.environments.indexes import masked, pip_settings
from rekindle.records import FailedProbe

from .frames import Frames
from .system import variables

_GLOBAL = ("pip-xdg", "pip-etc")
_USER = ("pip-legacy", "pip-user")


def settings(frames: Frames) -> tuple[dict[str, str], tuple[FailedProbe, ...]]:
    """Return the settings of ``pip install`` by option, passwords masked, and the files that do not parse.

    The user's files are not read if PIP_CONFIG_FILE exists, and none is read if it names /dev/null.
    """
    environment = variables(frames["pip-env"].text)
    own_file = environment.pop("PIP_CONFIG_FILE", None)
    if own_file == "/dev/null":
        files: tuple[str, ...] = ()
    elif own_file and frames["pip-file"].answered:
        files = (*_GLOBAL, "pip-file")
    else:
        files = (*_GLOBAL, *_USER)

    texts, problems = [], []
    for name in files:
        text = frames[name].text if frames[name].answered else ""
        try:
            pip_settings([text], {})
        except configparser.Error as error:
            message = f"pip cannot read this file: {masked(' '.join(error.message.split()))}."
            problems.append(FailedProbe(name=name, message=message))
            continue
        texts.append(text)
    values = pip_settings(texts, environment)
    return {name: masked(value) for name, value in values.items()}, tuple(problems)
