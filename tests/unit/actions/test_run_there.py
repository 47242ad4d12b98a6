"""Actions ``run_there`` and ``bring_file``: Ansible's own, and a task that is given up leaves no process."""

import pytest
from ansible.plugins.action.command import ActionModule as Command
from ansible.plugins.action.copy import ActionModule as Copy

from rekindle.actions import limits


class _GivenUp(BaseException):
    """As Ansible's timeout, it is not caught by ``except Exception``."""


@pytest.mark.parametrize(("name", "base"), [("run_there", Command), ("bring_file", Copy)])
@pytest.mark.parametrize("error", [_GivenUp, ValueError])
def test_what_was_started_ends_with_a_task_that_is_given_up(load, monkeypatch, name, base, error):
    calls = []

    def run(self, tmp=None, task_vars=None):
        raise error

    monkeypatch.setattr(base, "run", run)
    monkeypatch.setattr(limits, "end_children", lambda: calls.append(name))
    action = load(name).make({})
    assert isinstance(action, base)
    with pytest.raises(error):
        action.run()
    assert calls == ([name] if error is _GivenUp else [])
