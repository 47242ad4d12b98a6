# SPDX-License-Identifier: Apache-2.0
"""What was simulated below the run's folder is found where the job asked for it, until the job ends.

A link leads there while the simulation goes on. After it folders with the same files stand in the link's
place, as few ways to look for a file follow a link to a folder.
"""

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
    chosen = _place(chosen)
    if chosen.is_relative_to(root) or root.is_relative_to(chosen):
        return
    missing = [folder for folder in chosen.parents if not folder.exists()]
    with suppress(OSError):
        if chosen.is_symlink():
            chosen.unlink()
        elif chosen.is_dir():
            shutil.rmtree(chosen)
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.symlink_to(made)
        with _list().open("a", encoding="utf-8") as stream:
            stream.writelines(
                f"{path}\0{of}\n" for path, of in [(chosen, made), *((one, "") for one in missing)]
            )


def replace_link(chosen: Path) -> None:
    """Have folders with the same files take the place of the link at ``chosen``, if `link_chosen` made it."""
    chosen = _place(chosen)
    if chosen.is_symlink() and str(chosen) in dict(_read_list()):
        with suppress(OSError):  # the job may do without, and its run's own folder has all
            made = chosen.resolve()
            chosen.unlink()
            shutil.copytree(made, chosen, symlinks=True, copy_function=_share_file)


def remove_links() -> None:
    """Remove what this run put in places that it chose, and the folders above if nothing else is there.

    Files that the job added there since are kept with the simulation's own.
    """
    for name, made in _read_list():
        path = Path(name)
        with suppress(OSError):  # what the job put there since stays
            if path.is_symlink():
                path.unlink()
            elif made:
                _keep_added(path, Path(made))
                shutil.rmtree(path)
            else:
                path.rmdir()


def _keep_added(tree: Path, made: Path) -> None:
    for base, _, names in os.walk(tree):
        for path in (Path(base, name) for name in names):
            target = made / path.relative_to(tree)
            if not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, target)


def _share_file(source: str, target: str) -> None:
    """Have one file at both places."""
    try:
        os.link(source, target)
    except OSError:  # another file system
        Path(target).symlink_to(source)


def _place(chosen: Path) -> Path:
    return chosen.parent.resolve() / chosen.name


def _read_list() -> list[tuple[str, str]]:
    """Return each place of this run, with the folder of its simulation; empty for folders above one."""
    with suppress(FileNotFoundError):
        lines = _list().read_text(encoding="utf-8").splitlines()
        return [(path, made) for path, _, made in (line.partition("\0") for line in lines)]
    return []


def _list() -> Path:
    return Path(os.environ[WORKSPACE]).parents[1] / folders.HOOK / "links"
