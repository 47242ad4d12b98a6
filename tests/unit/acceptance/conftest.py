# SPDX-License-Identifier: Apache-2.0
"""What tests of the code that runs on hosts share."""

from pathlib import Path

import pytest


@pytest.fixture
def job_code(monkeypatch):
    """Have the modules of flare_jobs/acceptance be imported as they are there."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "flare_jobs" / "acceptance"))
