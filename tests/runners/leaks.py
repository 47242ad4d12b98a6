# SPDX-License-Identifier: Apache-2.0
"""What stands for a secret in the tests, and where it turns up."""

import gzip
import io
import tarfile
import zipfile

CANARY = "CANARY"


def _contents(name, data):
    """Yield the name and content of a file, and of every file in it if it is an archive."""
    yield name, data
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
        yield name, data
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.namelist():
                yield from _contents(f"{name}/{member}", archive.read(member))
    elif tarfile.is_tarfile(io.BytesIO(data)):
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if member.isreg():
                    yield from _contents(f"{name}/{member.name}", archive.extractfile(member).read())


def leaks(folder):
    """Return the files under ``folder`` that have CANARY in their name or content."""
    return [
        name
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
        for name, data in _contents(str(path), path.read_bytes())
        if CANARY.encode() in data or CANARY in name
    ]
