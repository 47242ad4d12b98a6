"""What travels to a host: this package and the jobs, in one zip file that Python imports from.

The file's name carries the digest of its content, so that a host that has it needs no second look.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path, PurePosixPath

_PACKAGE = Path(__file__).parent
_JOBS = "flare_jobs"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def build_payload(jobs: Path, folder: Path) -> Path:
    """Write the payload, with all jobs under ``jobs``, into ``folder``; same content, same file."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for root, prefix in ((_PACKAGE, "rekindle"), (jobs, _JOBS)):
            for path in sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    entry = zipfile.ZipInfo(f"{prefix}/{path.relative_to(root).as_posix()}", _EPOCH)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(entry, path.read_bytes())
    data = content.getvalue()
    target = folder / f"rekindle-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as aside:  # each host has a process that comes here
            partial = Path(aside, target.name)
            partial.write_bytes(data)
            partial.replace(target)
    return target


def extract_job(name: str, target: Path) -> None:
    """Copy the files of job ``name`` out of the payload that this code was imported from, into ``target``."""
    prefix = PurePosixPath(_JOBS, name)
    with zipfile.ZipFile(_PACKAGE.parent) as archive:
        for entry in archive.infolist():
            path = PurePosixPath(entry.filename)
            if path.is_relative_to(prefix):
                destination = target / path.relative_to(prefix)
                destination.parent.mkdir(parents=True, exist_ok=True)
                destination.write_bytes(archive.read(entry))
