"""Recorded runs, and copies of them to break."""

import shutil
from pathlib import Path

import pytest

RECORDINGS = Path(__file__).parents[1] / "recordings"


@pytest.fixture
def clean_run(tmp_path):
    """Return a copy of a recorded run on CPU that passed."""
    return Path(shutil.copytree(RECORDINGS / "runs" / "pt_ddp-cpu", tmp_path / "run"))


@pytest.fixture
def recordings():
    """Return the folder of recordings of real hosts and runs."""
    return RECORDINGS
