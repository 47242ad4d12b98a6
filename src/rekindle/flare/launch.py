# SPDX-License-Identifier: Apache-2.0
"""The trainers of a job by themselves: NVFlare's own commands for them, run without NVFlare."""

import json
import shlex
from pathlib import Path
from typing import NamedTuple

from rekindle.host import files

from .workspace import MEMBERS


class Trainers(NamedTuple):
    """What starts a site's trainers."""

    command: list[str]
    folder: Path


def find_trainers(job_folder: Path) -> dict[str, Trainers]:
    """Return the trainers of each site, by name, from the job as NVFlare's simulator deployed it.

    With REKINDLE_ROUNDS in the environment they train that many rounds alone. The result is empty for a job
    that died before it was deployed, and lacks sites that train inside NVFlare's client.

    Raises:
        OSError: a site's configuration cannot be read.
        ValueError: it is not JSON, or a command in it has unbalanced quotes.
        KeyError: it is not as NVFlare writes it.
    """
    found = {}
    for site in sorted(job_folder.glob(MEMBERS)):
        for app in sorted(site.glob("simulate_job/app_*")):
            try:
                config = json.loads(files.read_content(app / "config/config_fed_client.json"))
            except FileNotFoundError:  # the server's
                continue
            for component in config["components"]:
                if component["id"] == "launcher":
                    found[site.name] = Trainers(shlex.split(component["args"]["script"]), app)
            for entry in config.get("executors", ()):
                if command := entry["executor"].get("args", {}).get("command"):  # since NVFlare 2.9
                    found[site.name] = Trainers(command, app)
    return found
