# SPDX-License-Identifier: Apache-2.0
"""A run as its trainers find it."""

import pytest

from rekindle.trainer.variables import WORKSPACE


@pytest.fixture
def root(monkeypatch, tmp_path):
    """Return the workspace of a run, and have its simulations write evidence as the server."""
    root = tmp_path / "run/job/workspace"
    root.mkdir(parents=True)
    (tmp_path / "run/hook").mkdir()
    monkeypatch.setenv(WORKSPACE, str(root))
    monkeypatch.setenv("REKINDLE_SERVER", "server")
    return root
