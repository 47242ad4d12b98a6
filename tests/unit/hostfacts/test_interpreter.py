"""Which of a host's Pythons Ansible's modules run in."""

from __future__ import annotations

import pytest

from rekindle.hostfacts import interpreter
from rekindle.records import Python

OLD, NEW = Python(path="/old", version="3.9.18"), Python(path="/new", version="3.13.0")
FIT, NEWEST = Python(path="/usr/bin/python3.10", version="3.10.2"), Python(path="/b", version="3.12.1")
VENV = Python(path="/opt/venv/bin/python3", version="3.12.9", venv=True)


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ((NEW, NEWEST, FIT, OLD), NEWEST.path),
        ((VENV, FIT), FIT.path),
        ((NEW, VENV, OLD), VENV.path),
        ((NEW, OLD), None),
        ((), None),
    ],
)
def test_the_newest_that_fits_outside_of_an_environment(
    pythons: tuple[Python, ...], chosen: str | None
) -> None:
    assert interpreter(pythons) == chosen


@pytest.mark.parametrize("path", ["/my pythons/python3", "/p;id", "/$(id)", "python3", "/{{ 3 }}"])
def test_a_path_that_a_shell_reads_more_into_is_none(path: str) -> None:
    assert interpreter((Python(path=path, version="3.12.1"),)) is None
    assert interpreter((Python(path=path, version="3.12.1"), FIT)) == FIT.path
