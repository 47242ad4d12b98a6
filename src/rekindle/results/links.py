# SPDX-License-Identifier: Apache-2.0
"""What nothing is written into as results: a folder of others' files, and links to elsewhere."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from rekindle.host import folders
from rekindle.records import RecordError
from rekindle.records.text import list_few


def refuse_links(folder: Path) -> None:
    """Refuse a results folder in which a host's folder, or anything in one, is a link; we make none there.

    Raises:
        RecordError: it has one, or more.
    """
    for path in find_links(folder):
        message = f"{path} is a link to {path.readlink()}, and nothing is written through it."
        raise RecordError(message, "put a folder in its place, or remove it.")


def refuse_others(folder: Path) -> None:
    """Refuse a folder that is no results folder and has files which ours would replace; a log may be there.

    Raises:
        RecordError: it has any.
    """
    names = (*folders.REPORTS, folders.SUMS, folders.SIGNATURE)
    if not (folder / folders.PLAY_RECORD).exists() and (ours := [x for x in names if (folder / x).exists()]):
        message = (
            f"{folder} has {list_few(ours, 3)} and no {folders.PLAY_RECORD}: others' files would be lost."
        )
        raise RecordError(message, "name a new folder in rekindle_results, or one that has results.")


def find_links(folder: Path, levels: int = 2) -> Iterator[Path]:
    """Yield the links in a folder and, to so many levels, in the folders below it."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = Path(entry.path)
            if entry.is_symlink():
                yield path
            elif levels > 1 and entry.is_dir(follow_symlinks=False):
                yield from find_links(path, levels - 1)
