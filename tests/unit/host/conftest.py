# SPDX-License-Identifier: Apache-2.0
"""Where a run of a host goes."""

import pytest


@pytest.fixture
def home(tmp_path):
    """Return where a run goes, with an older one in it, and nothing else beside it."""
    folder = tmp_path / "in" / "pt_ddp"
    folder.mkdir(parents=True)
    (folder / "older").write_text("proof")
    return folder
