"""What every action of ours does the same way: its arguments are checked, its failure is a complaint."""

from typing import Any, ClassVar

from ansible.plugins.action import ActionBase

from rekindle.records import Complaint

REQUIRED = {"required": True}
"""An argument that is a text."""


class Failed(Complaint):
    """What a task fails with."""


class Action(ActionBase):
    """An action, of which `act` is what it does."""

    ARGUMENTS: ClassVar[dict[str, dict[str, Any]]]
    """As Ansible specifies a module's."""

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Do the task."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(self.ARGUMENTS)
        try:
            return {**result, **self.act(args, task_vars or {})}
        except Complaint as error:
            return {**result, "failed": True, "msg": str(error)}

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return what the task's result has, but for its failure.

        Raises:
            Complaint: it cannot be done.
        """
        raise NotImplementedError
