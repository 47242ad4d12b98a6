# SPDX-License-Identifier: Apache-2.0
"""Links by which a job finds what was simulated where it asked for it, until it ends."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from rekindle.host import folders

from .variables import WORKSPACE


def link_chosen(chosen: Path, made: Path) -> None:
    """Have ``chosen`` lead to ``made``, which NVFlare would have emptied and used by itself.

    Nothing is done below the run's own workspace, or where this user may not write.
    """
    root = Path(os.environ[WORKSPACE]).resolve()
    chosen = chosen.parent.resolve() / chosen.name
    if chosen.is_relative_to(root) or root.is_relative_to(chosen):
        return
    missing = [chosen, *(folder for folder in chosen.parents if not folder.exists())]
    with suppress(OSError):
        if chosen.is_symlink():
            chosen.unlink()
        elif chosen.is_dir():
            shutil.rmtree(chosen)
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.symlink_to(made)
        with _list().open("a", encoding="utf-8") as stream:
            stream.writelines(f"{path}\n" for path in missing)


def remove_links() -> None:
    """Remove the links of this run, and the folders that were made for them if nothing else is there."""
    with suppress(FileNotFoundError):
        for path in map(Path, _list().read_text(encoding="utf-8").splitlines()):
            with suppress(OSError):
                path.unlink() if path.is_symlink() else path.rmdir()


def _list() -> Path:
    return Path(os.environ[WORKSPACE]).parents[1] / folders.HOOK / "links"
