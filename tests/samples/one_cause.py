# SPDX-License-Identifier: Apache-2.0
"""One folder has one cause: judge and diagnose name the same, never nothing, and no echo."""

import re

from rekindle.judge import explain_run, judge_run
from rekindle.report.findings import format_diagnosis

ECHO = re.compile(r"not a valid DXO|min_responses|closed by peer|Aborting current RUN")


def agree(run, verdict=None):
    """Check that a folder has one cause, and return the diagnosis; it may have been judged already."""
    verdict, found = verdict or judge_run(run), explain_run(run)
    failed = verdict.verdict not in ("PASS", "UNPROVEN")
    assert not failed or found.cause
    if found.cause:
        assert verdict.cause.startswith(found.cause.cause)
        assert not found.cause.echo
        assert not ECHO.search(found.cause.cause)
    assert not failed or "Nothing found" not in format_diagnosis(found)
    return found
