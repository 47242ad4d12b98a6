# SPDX-License-Identifier: Apache-2.0
"""The folders of playbooks, roles, plugins and jobs: in a checkout, or an installed collection."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
INSTALLED = PACKAGE.parent / "ansible_collections" / "rekindle" / "flare"
"""Where a wheel installs the collection, which Ansible finds there by itself."""


def find_collection() -> Path:
    """Return the collection's folder: of playbooks/, roles/, plugins/, flare_jobs/ and ansible.cfg."""
    return INSTALLED if INSTALLED.is_dir() else PACKAGE.parents[1]


JOBS = find_collection() / "flare_jobs"


def resolve_path(text: str) -> Path:
    """Return the path of this machine that ``text`` stands for, from the current folder on."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:  # there is no such user
        return Path(text).absolute()


def find_results(around: Path) -> Path:
    """Return the results folder of the plays in ``around``: there, or for a wheel in the current folder."""
    return (Path() if around == INSTALLED.resolve() else around).absolute() / "results"
