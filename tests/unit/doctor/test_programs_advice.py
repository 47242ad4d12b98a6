# SPDX-License-Identifier: Apache-2.0
"""What programs themselves advise, and what a report that one of them ended follows from."""

import pytest

from rekindle.doctor import diagnose_texts, texts

RAISED = 'Traceback (most recent call last):\n  File "/w/fit.py", line 9, in main\n    shut()\n'


def _diagnose(content):
    return diagnose_texts([texts.decode_text("log.txt", content.encode())])


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (
            "The gate is shut. Please name another gate. Then go.",
            'The message itself says: "Please name another gate."',
        ),
        ("The gate is shut, please name another gate", 'The message itself says: "please name another gate"'),
        ("The gate is shut. If it rusts, use `oil`.", 'The message itself says: "If it rusts, use `oil`."'),
        (
            "Gates rust. When a gate rusts, you should oil it.",
            'The message itself says: "When a gate rusts, you',
        ),
        ("Gates rust. To keep one, replace its hinge.", 'The message itself says: "To keep one, replace'),
        ("The gate is shut. Please report this bug.", "Correct what raises at fit.py:9."),
        ("The gate is shut. Use of it is over.", "Correct what raises at fit.py:9."),
        ("HTTP 429: too many. Please come later.", "Wait, or use a token"),
    ],
)
def test_where_no_word_is_known_a_messages_own_advice_is_the_remedy(message, remedy):
    assert _diagnose(f"{RAISED}ValueError: {message}\n").findings[0].remedy.startswith(remedy)


HINTED = """error: Failed to see the gate
  Caused by: Rust

hint: Consider another gate
make: *** [Makefile:12: gate] Error 2
"""


def test_what_a_report_of_an_end_follows_from_is_possible_and_has_its_programs_hint():
    found = _diagnose(HINTED)
    assert (found.cause.cause, found.cause.layer) == ("Failed to see the gate: Rust", None)
    assert found.cause.remedy.endswith('The message itself says: "Consider another gate"')
    assert found.others[0].echo


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        ('gate: Hinge "oak" is not supported!\nHinges:\n  iron', "", 'gate: Hinge "oak" is not supported!'),
        ("begins", "[stdout]\niron is required for a gate", "iron is required for a gate"),
        ("begins", "ends", None),
    ],
)
def test_a_line_without_a_mark_beside_a_report_of_an_end_is_a_possible_cause(before, after, cause):
    log = f"{before}\nsrun: error: n1: task 0: Exited with exit code 1\n{after}\n"
    found = _diagnose(log)
    assert (found.cause and found.cause.cause) == cause
