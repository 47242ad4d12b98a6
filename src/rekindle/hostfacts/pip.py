# SPDX-License-Identifier: Apache-2.0
"""What pip is configured with on a host, in pip's own order of precedence."""

import configparser

from rekindle.environments.indexes import mask_credentials, read_pip_settings
from rekindle.records import FailedProbe

from .frames import Frames
from .system import parse_variables

UNREAD = "unread-pip"
"""Problems with files of pip that are not read."""
_ABSENT = "No such file"


def read_settings(frames: Frames) -> tuple[dict[str, str], tuple[FailedProbe, ...]]:
    """Return the settings of ``pip install`` by option, passwords masked, and the files that do not parse.

    The user's files are not read if PIP_CONFIG_FILE exists, and none is read if it names /dev/null.
    """
    environment = parse_variables(frames["pip-env"].text)
    own_file = environment.pop("PIP_CONFIG_FILE", None)
    files: tuple[str, ...] = ()
    if own_file != "/dev/null":
        named = own_file and frames["pip-file"].answered
        files = ("pip-xdg", "pip-etc", *(("pip-file",) if named else ("pip-legacy", "pip-user")))
    texts, problems = [], []
    for name in files:
        text = frames[name].text if frames[name].answered else ""
        if not frames[name].answered and _ABSENT not in frames[name].text and not frames[name].late:
            message = f"pip's file cannot be read: {frames[name].first_line[:200]}."
            problems.append(FailedProbe(name=UNREAD, message=message))
        try:
            read_pip_settings([text], {})
        except configparser.Error as error:
            message = (
                f"pip cannot read a file of its own: {mask_credentials(' '.join(error.message.split()))}."
            )
            problems.append(FailedProbe(name=UNREAD, message=message))
            continue
        texts.append(text)
    values = read_pip_settings(texts, environment)
    return {name: mask_credentials(value) for name, value in values.items()}, tuple(problems)
