# SPDX-License-Identifier: Apache-2.0
"""The data of a user's job: those that the controller has are sent with it, others have to be on the host."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rekindle.host import payload
from rekindle.records import Job, RecordError

from .placement import PlacementError

TRAVELS_MB = 256
"""Of a user's folder, and of its data, which every host gets."""


def list_sent_data(job: Job, folder: Path) -> dict[str, Path]:
    """Return the folders of data that are sent with a job, by their names in the payload.

    Relative ones are of ``folder``, of the job's code.
    """
    if job.data is None or job.data.where == "host":
        return {}
    folders = job.data.locate(job.sites).items()
    return {
        f"{payload.name_data(job.name)}/{name}": folder / Path(path).expanduser() for name, path in folders
    }


def require_sent(file: Path, job: Job) -> None:
    """Require that the data which a job.yml has sent are here, and can be sent.

    Raises:
        RecordError: a folder is not there, or has no file, or all are too large.
    """
    size_mb = 0.0
    for path in list_sent_data(job, file.parent).values():
        if private := _find_private(path.resolve(), file.parent.resolve()):
            fix = "put what the job needs into a folder of its own."
            raise RecordError(f"{file} has data from {path}, and {private} is not sent to hosts.", fix)
        names = payload.list_travelling(path)
        if not names:
            message = f"{file} has data from {path}, and no folder with files is there on this machine."
            raise RecordError(message, "correct the path, or leave out where: if the hosts have it.")
        size_mb += sum((path / name).stat().st_size for name in names) / 1e6
    if size_mb > TRAVELS_MB:
        message = (
            f"{file} has {size_mb:.0f} MB of data that each host would get, and at most {TRAVELS_MB} travel."
        )
        raise RecordError(message, "put them on the hosts, and write where: host with their path there.")


def _find_private(path: Path, folder: Path) -> str:
    """Return why data at ``path`` are not of a job in ``folder``: hidden, or a home; empty if they are."""
    inside = path.relative_to(folder) if path.is_relative_to(folder) else path
    if hidden := next((part for part in inside.parts if part.startswith(".")), ""):
        return f"what is in {hidden}"
    if any(path.is_relative_to(place) for place in ("/proc", "/sys", "/dev")):
        return f"what the system shows in {path}"
    return f"the home folder {path}" if Path.home().resolve().is_relative_to(path) else ""


def find_missing(
    job: Job, sites: int, host: str, execute: Callable[[str], dict[str, Any]]
) -> PlacementError | None:
    """Return why a job cannot run on a host, if a folder of its data is not there; None if all are.

    Args:
        job: what is to run.
        sites: how many sites it has on the host.
        host: its name.
        execute: runs a command on the host.
    """
    if job.data is None or job.data.where == "controller":
        return None
    by_site = job.data.locate(sites)
    words = " ".join(map(shlex.quote, by_site.values()))
    answer = execute(f'for folder in {words}; do test -d "$folder" && echo "$folder"; done')
    there = str(answer["stdout"]).splitlines()
    for name, folder in by_site.items():
        if folder not in there:
            whose = f"{name} of {job.name}" if "{n}" in job.data.from_ else job.name
            return PlacementError(
                f"{host} has no folder {folder}, with the data of {whose}.",
                "Bring it there, as by rsync -a, or correct data: in its job.yml; where: controller has a "
                "folder of this machine sent.",
            )
    return None
