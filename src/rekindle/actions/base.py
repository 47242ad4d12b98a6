"""What every action of ours does the same way: its arguments are checked, its failure is a complaint."""

from typing import Any, ClassVar

from ansible.parsing.plugin_docs import read_docstring
from ansible.plugins.action import ActionBase

from rekindle.host import places
from rekindle.records import Complaint


class Failed(Complaint):
    """What a task fails with."""


def documented_options(action: str) -> dict[str, dict[str, Any]]:
    """Return the options that the documentation of an action in plugins/modules lists.

    Read as the action's own module is loaded, which is once: each task runs in a process of its own.
    """
    module = places.repository() / "plugins" / "modules" / f"{action.rpartition('.')[2]}.py"
    options: dict[str, dict[str, Any]] = read_docstring(str(module))["doc"]["options"]
    return options


class Action(ActionBase):
    """An action, of which `act` is what it does; plugins/modules has its documentation."""

    OPTIONS: ClassVar[dict[str, dict[str, Any]]]
    """Those that it takes, as Ansible specifies arguments."""

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Do the task."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(self.OPTIONS)
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
