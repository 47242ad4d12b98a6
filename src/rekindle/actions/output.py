# SPDX-License-Identifier: Apache-2.0
"""Ansible's display, and the results of failed tasks."""

import functools
import sys
from typing import Any

from ansible.utils.display import Display

from rekindle.records import Complaint
from rekindle.records.text import clean_for_terminal, shorten_text

from .base import COMPLAINT

_OURS = "rekindle.flare."
"""Begins the full name of each of our actions, which no host can put into `COMPLAINT`."""


def clean_display() -> None:
    """Clean every text that Ansible shows: a task's error, a module's stderr, ssh's messages."""
    display = Display.display

    @functools.wraps(display)
    def cleaned(self: Display, msg: object, *args: Any, **kwargs: Any) -> Any:
        return display(self, clean_for_terminal(str(msg), sys.stdout.isatty()), *args, **kwargs)

    Display.display = cleaned


def take_part(result: Any, name: str) -> Any:
    """Return the task, host or result of a task's result; before ansible-core 2.19 it was not public."""
    return getattr(result, name if hasattr(result, name) else f"_{name}")


def explain_failure(action: str, result: dict[str, Any]) -> Complaint:
    """Return why a task failed; there is a fix in it only if the ``action`` is ours, and not a host's."""
    ours = result.get(COMPLAINT) if action.startswith(_OURS) else None
    if ours:
        return Complaint(str(ours["message"]), str(ours["fix"]), ours.get("action"))
    message = str(result.get("msg") or result.get("censored") or "")
    if result.get("rc"):  # a command's own words are better than Ansible's
        message = str(result.get("stderr") or result.get("stdout") or message)
    if result.get("module_stderr"):
        message = f"{message}: {result['module_stderr']}"
    return Complaint(shorten_text(message.removeprefix("Task failed: ")))
