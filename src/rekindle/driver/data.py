# SPDX-License-Identifier: Apache-2.0
"""The data of a user's job, in its run's folder: copies of what was sent, links to what the host has."""

from pathlib import Path

from rekindle.host import folders
from rekindle.host.payload import extract_job, name_data
from rekindle.records import Job


def give_data(run_dir: Path, job: Job) -> None:
    """Put a job's own data where it finds them."""
    if job.data is None:
        return
    target = Path(job.data.to.replace("{data}", str(run_dir / folders.DATA)))
    target.mkdir(parents=True)
    if job.data.where == "controller":
        extract_job(name_data(job.name), target)
        return
    for name, path in job.data.locate(job.sites).items():
        (target / name).symlink_to(path)
