# SPDX-License-Identifier: Apache-2.0
"""No regular expression of ours takes the square of a text's length, whatever the text."""

import time

import pytest
from hostile_patterns import apply, hostile, used

_SHORT, _BRIEF_S = 4_000, 0.03
"""Characters, and the time that no linear one takes for four times as many."""


def _seconds(use, text):
    began = time.process_time()
    apply(use, text)
    return time.process_time() - began


def _worst(use):
    """Return how much longer four times the text took, at most; 0 where neither took any time."""
    worst = 0.0
    for unit in hostile(use):
        for end in ("", "\n\x00"):
            small, large = (unit * (size // len(unit) + 1) + end for size in (_SHORT, 4 * _SHORT))
            large_s = _seconds(use, large)
            if large_s > _BRIEF_S and (large_s := min(large_s, _seconds(use, large))) > _BRIEF_S:
                worst = max(worst, large_s / max(min(_seconds(use, small) for _ in range(3)), 1e-6))
    return worst


@pytest.fixture(scope="module")
def found():
    return list(used())


def test_every_pattern_of_our_code_is_found(found):
    assert len(found) > 150
    assert {"match", "search", "sub", "finditer", "fullmatch"} <= {use.method for use in found}


def test_no_pattern_takes_the_square_of_a_texts_length(found):
    slow = {f"{use.where}: {use.pattern[:80]}" for use in found if _worst(use) > 9}
    assert not slow
