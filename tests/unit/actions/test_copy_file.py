# SPDX-License-Identifier: Apache-2.0
"""Action ``copy_file``: Ansible's own, and a task that is given up leaves no process."""

import pytest
from ansible.plugins.action.copy import ActionModule as Copy

from rekindle.actions import limits


class _GivenUp(BaseException):
    """As Ansible's timeout, it is not caught by ``except Exception``."""


@pytest.mark.parametrize("error", [_GivenUp, ValueError])
def test_what_was_started_ends_with_a_task_that_is_given_up(load, monkeypatch, error):
    calls = []

    def run(self, tmp=None, task_vars=None):
        raise error

    monkeypatch.setattr(Copy, "run", run)
    monkeypatch.setattr(limits, "end_children", lambda: calls.append("ended"))
    action = load("copy_file").make({})
    assert isinstance(action, Copy)
    with pytest.raises(error):
        action.run()
    assert calls == (["ended"] if error is _GivenUp else [])
