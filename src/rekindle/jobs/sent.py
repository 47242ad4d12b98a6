"""What of a job's code is sent to a host, file by file."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from rekindle.host.archive import FILE_LIMIT
from rekindle.host.payload import job_files
from rekindle.records import Job, RecordError


def code_in(payload: Path, job: Job) -> dict[str, bytes]:
    """Return the files of the code of ``job`` in the payload, by their names in its folder.

    Raises:
        RecordError: the payload is missing or damaged.
    """
    try:
        return dict(job_files(payload, job.code or job.name))
    except (OSError, zipfile.BadZipFile):
        raise RecordError(
            f"{payload} is missing or damaged.", "run playbooks/environments.yml again."
        ) from None


def digests(files: dict[str, bytes], job: Job, *, on_gpus: bool) -> dict[str, str]:
    """Return the SHA-256 of each file once the run has mended it; empty for one too large to be collected."""
    changed = dict(files)
    for mend in job.example.mends if job.example else ():
        if mend.file in changed and (mend.where == "anywhere" or not on_gpus):
            # The run reads it as text, in which a line ends with \n.
            text = changed[mend.file].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            changed[mend.file] = text.replace(mend.before.encode(), mend.after.encode())
    return {
        name: hashlib.sha256(content).hexdigest() if len(content) <= FILE_LIMIT else ""
        for name, content in changed.items()
    }
