"""Where playbooks, roles, plugins and jobs lie: around a checkout's ``src/``, or in an installed package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
PACKED = "ansible"
"""The folder of `PACKAGE` in which a wheel has what a checkout has around ``src/``."""


def repository() -> Path:
    """Return the folder of site.yml, ansible.cfg, playbooks/, roles/, plugins/ and flare_jobs/."""
    packed = PACKAGE / PACKED
    return packed if packed.is_dir() else PACKAGE.parents[1]


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
    return (Path() if around.parent == PACKAGE.resolve() else around).absolute() / "results"
