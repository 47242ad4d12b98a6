# SPDX-License-Identifier: Apache-2.0
"""Chooses what is altered, and how much of it."""

from random import Random

import pytest
from mutation_runs import Bench

from rekindle.records import Diagnosis


def pytest_addoption(parser):
    parser.addoption("--seed", default="rekindle", help="of the places and values that mutations choose")
    parser.addoption("--ways", type=int, default=2, help="recorded runs to try, by mutation")
    parser.addoption("--every", type=int, default=1, help="of so many files one, others for each run")


@pytest.fixture(scope="session")
def bench(tmp_path_factory):
    """Return what judges altered runs."""
    return Bench(tmp_path_factory.mktemp("runs"))


@pytest.fixture(autouse=True)
def no_doctor(monkeypatch):
    """Leave the doctor out, as no finding of his makes a PASS."""
    monkeypatch.setattr("rekindle.judge.verdict.diagnose_run", lambda *_, **__: Diagnosis(cause=None))


@pytest.fixture
def share(request):
    """Return what takes one in ``--every`` of some files, others for each name."""
    option = request.config.option

    def take(name, those):
        those = sorted(those)
        return Random(f"{option.seed}/{name}").sample(those, -(-len(those) // option.every))

    return take


@pytest.fixture
def runs_for(request):
    """Return what chooses ``--ways`` of the recorded runs, each with its random numbers."""
    option = request.config.option

    def choose(mutation, names):
        rng = Random(f"{option.seed}/{mutation}")
        return [(name, rng) for name in rng.sample(sorted(names), min(option.ways, len(names)))]

    return choose
