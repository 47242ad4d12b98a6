"""Action ``run_there``: ansible.builtin.command, whose task can be given up."""

from __future__ import annotations

from ansible.plugins.action.command import ActionModule as Command

from rekindle.actions.limits import limited


@limited
class ActionModule(Command):
    """Arguments: those of command."""
