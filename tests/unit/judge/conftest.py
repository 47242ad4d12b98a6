# SPDX-License-Identifier: Apache-2.0
"""What tests of the judge begin with."""

import shutil

import pytest


@pytest.fixture
def example(recordings, tmp_path):
    """Return a copy of a recorded run of an example."""
    return shutil.copytree(recordings / "examples" / "hello-numpy", tmp_path / "run")
