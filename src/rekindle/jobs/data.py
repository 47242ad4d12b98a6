# SPDX-License-Identifier: Apache-2.0
"""The data of a user's job that the controller has, and that are sent with it."""

from pathlib import Path

from rekindle.host import payload
from rekindle.records import Job, RecordError


def sent_with(job: Job, folder: Path) -> dict[str, Path]:
    """Return the folders of data that are sent with a job, by their names in the payload.

    Relative ones are of ``folder``, of the job's code.
    """
    if job.data is None or job.data.where == "host":
        return {}
    folders = job.data.of(job.sites).items()
    return {f"{payload.data_of(job.name)}/{name}": folder / Path(path).expanduser() for name, path in folders}


def require_sent(file: Path, job: Job, limit_mb: int) -> None:
    """Require that the data which a job.yml has sent are here, and can be sent.

    Raises:
        RecordError: a folder is not there, or has no file, or all are too large.
    """
    size_mb = 0.0
    for path in sent_with(job, file.parent).values():
        names = payload.travelling(path)
        if not names:
            message = f"{file} has data from {path}, and no folder with files is there on this machine."
            raise RecordError(message, "correct the path, or leave out where: if the hosts have it.")
        size_mb += sum((path / name).stat().st_size for name in names) / 1e6
    if size_mb > limit_mb:
        message = (
            f"{file} has {size_mb:.0f} MB of data that each host would get, and at most {limit_mb} travel."
        )
        raise RecordError(message, "put them on the hosts, and write where: host with their path there.")
