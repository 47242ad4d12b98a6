"""Chooses the mutations and their seed, and prints the table of what came of each kind."""

from pathlib import Path

import pytest
from mutation_runs import Bench
from mutation_table import show, write
from reported import Reported

REPORT = Path(__file__).parents[2] / "results" / "mutations.json"
REPORTED = pytest.StashKey[Reported]()


def pytest_addoption(parser):
    parser.addoption("--seed", default="rekindle", help="of the places and values that mutations choose")
    parser.addoption(
        "--run", default="", help="part of the names of the recorded runs to alter; all by default"
    )
    parser.addoption("--ways", type=int, default=2, help="places or values to try, by mutation and run")


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """Return what judges altered runs."""
    return Bench(tmp_path_factory.mktemp("runs"))


@pytest.fixture(autouse=True)
def no_doctor(monkeypatch):
    """Leave the doctor out, as no finding of his makes a PASS."""
    monkeypatch.setattr("rekindle.judge.verdict.diagnose_run", lambda *told: ())


@pytest.fixture(scope="session")
def chosen(request):
    """Return the seed, and how many ways to try."""
    return request.config.option.seed, request.config.option.ways


@pytest.fixture(scope="session")
def only(request):
    """Return what the names of the chosen recorded runs have in them."""
    return request.config.option.run


@pytest.fixture
def rows(record_property):
    """Return a list whose rows go into the table; they reach it from pytest-xdist's workers too."""
    told = []
    record_property("mutations", told)
    return told


def pytest_configure(config):
    config.stash[REPORTED] = Reported("mutations")
    config.pluginmanager.register(config.stash[REPORTED])


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash[REPORTED].rows
    if rows:
        terminalreporter.section("mutations")
        terminalreporter.write(show(rows))
        if not config.option.keyword and not config.option.run:
            write(rows, REPORT)
