# SPDX-License-Identifier: Apache-2.0
"""Links in a results folder, through which something elsewhere would be written."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rekindle.records import RecordError


def refuse_links(folder: Path) -> None:
    """Refuse a results folder in which a host's folder, or anything in one, is a link; we make none there.

    Raises:
        RecordError: it has one, or more.
    """
    for path in find_links(folder):
        message = f"{path} is a link to {path.readlink()}, and nothing is written through it."
        raise RecordError(message, "put a folder in its place, or remove it.")


def find_links(folder: Path, levels: int = 2) -> Iterator[Path]:
    """Yield the links in a folder and, to so many levels, in the folders below it."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = Path(entry.path)
            if entry.is_symlink():
                yield path
            elif levels > 1 and entry.is_dir(follow_symlinks=False):
                yield from find_links(path, levels - 1)
