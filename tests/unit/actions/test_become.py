# SPDX-License-Identifier: Apache-2.0
"""Ansible's become to another user is refused in a sentence, before a host is asked anything."""

from types import SimpleNamespace

import pytest

from rekindle.actions.base import Action
from rekindle.actions.limits import limit_action


@pytest.fixture
def run(monkeypatch, load):
    """Return the result of a task that would become a user, and whether it was done."""

    def call(become_user, remote_user, *, become=True, local=None):
        done = []

        class One(Action):
            OPTIONS = {}
            _low_level_execute_command = None

            def act(self, args, task_vars):
                done.append(True)
                return {}

            def get_become_option(self, option):
                return become_user

            def _get_remote_user(self):
                return remote_user

        action = limit_action(One).__new__(One)
        action._connection = SimpleNamespace(become=object() if become else None, default_user=local)
        action.validate_argument_spec = lambda spec: (None, {})
        return action.run(task_vars={}), bool(done)

    return call


@pytest.mark.parametrize(
    ("become_user", "remote_user", "said"),
    [("root", "lease", "the one that it connects as, lease."), (None, None, "the one that it connects as.")],
)
def test_another_user_is_refused(run, become_user, remote_user, said):
    result, done = run(become_user, remote_user)
    assert not done
    assert result["complaint"]["message"].endswith(said)
    assert result["complaint"]["message"].startswith("Ansible's become asks for the user root, and ")
    assert "ansible_become" in result["complaint"]["fix"]


def test_the_same_user_is_none_other(run):
    assert run("root", "root")[1]
    assert run("root", None, local="root")[1]
    assert run("root", "lease", become=False)[1]
