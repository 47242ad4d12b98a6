"""Where playbooks, roles, plugins and jobs lie: in a checkout around ``src``, or an installed collection."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
INSTALLED = PACKAGE.parent / "ansible_collections" / "rekindle" / "flare"
"""Where a wheel installs the collection, which Ansible finds there by itself."""


def repository() -> Path:
    """Return the collection's folder: of playbooks/, roles/, plugins/, flare_jobs/ and ansible.cfg."""
    return INSTALLED if INSTALLED.is_dir() else PACKAGE.parents[1]


JOBS = repository() / "flare_jobs"
"""Those that come with us."""


def here(text: str) -> Path:
    """Return the path of this machine that ``text`` stands for, from the current folder on."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:  # there is no such user
        return Path(text).absolute()


def results(around: Path) -> Path:
    """Return where runs of the plays in ``around`` are kept: there, or of a wheel's where their user is."""
    return (Path() if around == INSTALLED.resolve() else around).absolute() / "results"
