# SPDX-License-Identifier: Apache-2.0
"""A verdict's checks: those that do not hold, those that the job claims, and those of every such run."""

from collections import Counter
from typing import NamedTuple

from rekindle.judge import is_claim
from rekindle.records import ClaimResult, VerdictRecord
from rekindle.records.verdict import CheckState

_WORDS: dict[CheckState, str] = {
    "fails": "fail",
    "unknown": "unknown",
    "holds": "hold",
    "not applicable": "do not apply",
}


class Checks(NamedTuple):
    """Each in the verdict's order."""

    bad: list[ClaimResult]
    claims: list[ClaimResult]
    general: list[ClaimResult]


def group_checks(verdict: VerdictRecord) -> Checks:
    """Return the checks of a verdict, each in one list."""
    found = Checks([], [], [])
    for result in verdict.evidence:
        bad = result.state in {"fails", "unknown"}
        (found.bad if bad else found.claims if is_claim(result.claim) else found.general).append(result)
    return found


def count_checks(verdict: VerdictRecord) -> str:
    """Return ``43 checks: 40 hold, 3 do not apply``."""
    counts = Counter(result.state for result in verdict.evidence)
    parts = [f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state]]
    return f"{len(verdict.evidence)} check{'s' if len(verdict.evidence) != 1 else ''}: {', '.join(parts)}"
