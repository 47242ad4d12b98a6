# SPDX-License-Identifier: Apache-2.0
"""The base of our actions: it checks arguments, and reports complaints as failures."""

import json
from contextlib import suppress
from typing import Any, ClassVar

import yaml
from ansible import constants as C
from ansible.parsing.plugin_docs import read_docstring
from ansible.plugins.action import ActionBase

from rekindle.host import paths
from rekindle.records import Complaint

COMPLAINT = "complaint"
"""The field of a task's result with the parts of a failure of ours; ``msg`` is one text, for people."""


def fail_with(complaint: Complaint) -> dict[str, Any]:
    """Return the fields of a failed task's result."""
    parts = {"message": complaint.message, "fix": complaint.fix}
    if complaint.action:
        parts["action"] = complaint.action
    return {"failed": True, "msg": str(complaint), COMPLAINT: parts}


def read_documented_options(action: str) -> dict[str, dict[str, Any]]:
    """Return the options in the documentation of an action in plugins/modules.

    They are read once, when the action's module is loaded: each task runs in its own process.
    """
    module = paths.find_collection() / "plugins" / "modules" / f"{action.rpartition('.')[2]}.py"
    options: dict[str, dict[str, Any]] = read_docstring(str(module))["doc"]["options"]
    return options


def find_configured_python() -> str:
    """Return the Python that ansible.cfg names for all hosts; empty where Ansible finds one by itself."""
    python: str = C.config.get_config_value("INTERPRETER_PYTHON")
    return "" if python.startswith("auto") else python


def strip_tags(value: Any) -> Any:
    """Return a task's value as JSON has it, without the tags by which Ansible knows where it is from."""
    return json.loads(json.dumps(value))


def read_list(value: Any) -> Any:
    """Return the list that a text is in JSON or YAML, such as ``["a", "b"]``; else ``value`` itself.

    Ansible splits a text at its commas, brackets and all.
    """
    if isinstance(value, str) and value.strip().startswith("["):
        with suppress(yaml.YAMLError):
            found = yaml.safe_load(value)
            return found if isinstance(found, list) else value
    return value


class Action(ActionBase):
    """An action; `act` does its work, and plugins/modules has its documentation."""

    OPTIONS: ClassVar[dict[str, dict[str, Any]]]

    def __init_subclass__(cls) -> None:
        """Take its options from its documentation; a class that others derive from it has them already."""
        if not hasattr(cls, "OPTIONS"):
            cls.OPTIONS = read_documented_options(cls.__module__)

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Do the task."""
        result = super().run(tmp, task_vars)
        for name, option in self.OPTIONS.items():
            if option.get("type") == "list" and name in self._task.args:
                self._task.args[name] = read_list(self._task.args[name])
        _, args = self.validate_argument_spec(self.OPTIONS)
        try:
            answer = self.act(args, task_vars or {})
            return {**result, **{name: value for name, value in answer.items() if name != COMPLAINT}}
        except Complaint as error:
            return {**result, **fail_with(error)}

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do the work, and return the fields of the task's result.

        Raises:
            Complaint: it cannot be done.
        """
        raise NotImplementedError
