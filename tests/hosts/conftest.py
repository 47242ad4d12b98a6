"""A lab for all tests of this folder, and site.yml on two of its hosts; both made once."""

import os

import pytest
from lab import LabError
from lab.labs import Lab
from lab.machine import check
from lab.wheels import fill_wheelhouse
from listing import listing
from plays import play


@pytest.fixture(scope="session")
def here():
    """Skip what needs a lab where none can be, though never in CI."""
    try:
        check()
    except LabError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def pair(here):
    """Return a lab of two hosts, for which every wheel is here."""
    lab = Lab("pair")
    try:
        lab.up(["first", "second"])
        fill_wheelhouse(lab)
        yield lab
    finally:
        lab.down()


@pytest.fixture(scope="session")
def bare(pair):
    """Return what is on the second host before Rekindle comes."""
    return listing(pair, "second")


@pytest.fixture(scope="session")
def site(pair, bare, tmp_path_factory):
    """Return the first run of site.yml on the two."""
    return play("site.yml", pair.inventory, tmp_path_factory.mktemp("results") / "pair", timeout=1200)
