# SPDX-License-Identifier: Apache-2.0
"""Molecule's scenarios, as `make molecule` runs them."""

import os
import re

import pytest
from runners.commands import capture_command
from runners.plays import REPOSITORY

SCENARIOS = {path.parent.name for path in REPOSITORY.glob("molecule/*/molecule.yml")} - {"default"}


@pytest.fixture(scope="module")
def molecule(named, tmp_path_factory):
    """Return what `make molecule` printed, and its status."""
    own = {
        "REKINDLE_LAB": named("molecule"),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path_factory.mktemp("molecule")),
    }
    done = capture_command(
        ["make", "--old-file=.venv/.done", "molecule"],
        cwd=REPOSITORY,
        env={**os.environ, **own, "NO_COLOR": "1"},
        timeout=1800,
    )
    return re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr), done.returncode


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_it_converges_changes_nothing_again_and_is_verified(molecule, scenario):
    summary = molecule[0].rpartition("DETAILS")[2]
    for step in ("converge", "idempotence", "verify"):
        assert re.search(rf"^{scenario} (➜|>) {step}: Executed: Successful$", summary, re.M), summary


def test_nothing_failed(molecule):
    output, status = molecule
    assert status == 0, output
