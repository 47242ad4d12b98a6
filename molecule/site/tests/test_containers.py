# SPDX-License-Identifier: Apache-2.0
"""Where no job runs in a container, no image is looked for."""

import os
from pathlib import Path


def test_no_record_tells_of_images():
    assert not Path(os.environ["REKINDLE_RESULTS"], "leased", "images.json").exists()
