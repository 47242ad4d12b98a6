# SPDX-License-Identifier: Apache-2.0
"""One folder has one cause: judge and diagnose name the same, never nothing, and no echo."""

import re

from rekindle.judge import explain, judge
from rekindle.report.findings import diagnosis

ECHO = re.compile(r"not a valid DXO|min_responses|closed by peer|Aborting current RUN")


def agree(run):
    """Check that a folder has one cause, and return the diagnosis."""
    verdict, found = judge(run), explain(run)
    failed = verdict.verdict not in ("PASS", "UNPROVEN")
    assert not failed or found.cause
    if found.cause:
        assert verdict.cause.startswith(found.cause.cause)
        assert not found.cause.echo
        assert not ECHO.search(found.cause.cause)
    assert not failed or "Nothing found" not in diagnosis(found)
    return found
