"""Chooses the mutations and their seed, and prints the table of what came of each kind."""

from dataclasses import dataclass, fields
from pathlib import Path
from random import Random

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
    parser.addoption(
        "--every", type=int, default=1, help="of so many runs or files one, others for each kind"
    )


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """Return what judges altered runs."""
    return Bench(tmp_path_factory.mktemp("runs"))


@pytest.fixture(autouse=True)
def no_doctor(monkeypatch):
    """Leave the doctor out, as no finding of his makes a PASS."""
    monkeypatch.setattr("rekindle.judge.verdict.diagnose_run", lambda *told: ())


@dataclass(frozen=True)
class Chosen:
    """What is tried: runs with ``run`` in their names, one of ``every`` so many, in so many ways."""

    seed: str
    ways: int
    every: int
    run: str

    def share(self, name, those):
        """Return runs or files in the order that the seed has for a name, and how many to take."""
        those = sorted(those)
        return Random(f"{self.seed}/{name}").sample(those, len(those)), -(-len(those) // self.every)


@pytest.fixture(scope="session")
def chosen(request):
    """Return what the options ask for."""
    return Chosen(*(getattr(request.config.option, field.name) for field in fields(Chosen)))


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
