"""The Python of a host that Ansible's modules run in."""

from __future__ import annotations

from rekindle.gpus.models import version_key
from rekindle.records import Python

from .needs import supported
from .record import flaw


def interpreter(pythons: tuple[Python, ...]) -> str | None:
    """Return the path of the one to run: outside of a virtual environment first, then the newest.

    None if none fits, as a path does not that a shell would split.
    """
    fit = [python for python in pythons if supported(python) and not flaw("it", python.path)]
    best = max(fit, key=lambda python: (not python.venv, version_key(python.version)), default=None)
    return best.path if best else None
