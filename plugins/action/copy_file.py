"""Action ``copy_file``: ansible.builtin.copy, whose task can be given up."""

from __future__ import annotations

from ansible.plugins.action.copy import ActionModule as Copy

from rekindle.actions.limits import limited


@limited
class ActionModule(Copy):
    """plugins/modules has its documentation."""
