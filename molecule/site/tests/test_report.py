# SPDX-License-Identifier: Apache-2.0
"""The reports beside the records."""

import json
import os
from pathlib import Path

RESULTS = Path(os.environ["REKINDLE_RESULTS"])


def test_it_says_that_the_host_passed():
    (row,) = json.loads((RESULTS / "results.json").read_text())["rows"]
    assert (row["host"], row["job"], row["verdict"]) == ("leased", "pt_ddp", "PASS")
    assert (RESULTS / "report.html").exists()
    assert (RESULTS / "junit.xml").exists()
