"""Molecule's scenarios, a role each, as `make molecule` runs them."""

import os
import re
import subprocess

import pytest
from plays import REPOSITORY

ROLES = {path.parent.name for path in REPOSITORY.glob("molecule/*/molecule.yml")} - {"default"}
OF_GPUS = {"accept"}
"""Which does nothing where there is none; tests/unit/actions and tests/unit/acceptance have what it does."""


@pytest.fixture(scope="module")
def molecule(named, tmp_path_factory):
    """Return what `make molecule` printed, and its status."""
    own = {
        "REKINDLE_LAB": named("molecule"),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path_factory.mktemp("molecule")),
    }
    done = subprocess.run(
        ["make", "--old-file=.venv/.done", "molecule"],
        cwd=REPOSITORY,
        env={**os.environ, **own, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    return re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr), done.returncode


def test_every_role_that_does_something_has_a_scenario():
    assert {path.parents[1].name for path in REPOSITORY.glob("roles/*/tasks/main.yml")} == ROLES | OF_GPUS


@pytest.mark.parametrize("role", sorted(ROLES))
def test_it_converges_changes_nothing_again_and_is_verified(molecule, role):
    summary = molecule[0].rpartition("DETAILS")[2]
    for step in ("converge", "idempotence", "verify"):
        assert re.search(rf"^{role} (➜|>) {step}: Executed: Successful$", summary, re.M), summary


def test_nothing_failed(molecule):
    output, status = molecule
    assert status == 0, output
