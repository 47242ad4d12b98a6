"""What Ansible displays, and what it returns of a task that failed."""

import functools
import sys
from typing import Any

from ansible.utils.display import Display

from rekindle.records.text import for_terminal


def clean_display() -> None:
    """Have every text cleaned that Ansible shows: a task's error, a module's stderr, ssh's own words."""
    display = Display.display

    @functools.wraps(display)
    def cleaned(self: Display, msg: object, *args: Any, **kwargs: Any) -> Any:
        return display(self, for_terminal(str(msg), sys.stdout.isatty()), *args, **kwargs)

    Display.display = cleaned


def part(result: Any, name: str) -> Any:
    """Return the task, host or result of a task's result; before ansible-core 2.19 it was not public."""
    return getattr(result, name if hasattr(result, name) else f"_{name}")


def failure(result: dict[str, Any]) -> str:
    """Return what a failed task says of itself; of a loop, what its first failed item says."""
    items = [item for item in result.get("results", ()) if isinstance(item, dict) and item.get("failed")]
    said = items[0] if items else result
    message = str(said.get("msg") or said.get("censored") or "")
    if said.get("rc"):  # of a command, which says more than Ansible does of it
        message = str(said.get("stderr") or said.get("stdout") or message)
    if said.get("module_stderr"):
        message = f"{message}: {said['module_stderr']}"
    return message.removeprefix("Task failed: ")
