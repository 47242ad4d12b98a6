# SPDX-License-Identifier: Apache-2.0
"""Action ``copy_file``: ansible.builtin.copy with a time limit."""

from ansible.plugins.action.copy import ActionModule as Copy

from rekindle.actions.limits import limit_action


@limit_action
class ActionModule(Copy):
    """plugins/modules has its documentation."""
