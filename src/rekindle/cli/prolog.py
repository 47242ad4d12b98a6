# SPDX-License-Identifier: Apache-2.0
"""``rekindle accept --prolog``: whether this node's GPUs are right, for a prolog or health check.

A room that knows such a system has a module ``drain`` with its command.
"""

import os
import signal
import subprocess
from contextlib import suppress
from types import ModuleType
from typing import Any, Literal

import msgspec

from rekindle.host.rooms import load_rooms
from rekindle.host.variables import name_machine
from rekindle.hostfacts.frames import FactsError
from rekindle.hostfacts.node import look_at_node
from rekindle.records import Complaint
from rekindle.records.action import Action, pick_severest
from rekindle.records.text import fold_line, shorten_text

from .verb import FAILED, OK, USAGE, Answer, print_answer

_GIVEN_UP_S = 2.6
"""After the probes' own limit: for the collector, where even that waits in the kernel."""
_LONGEST = 500


class NodeFinding(msgspec.Struct):
    """What is wrong with a node's GPUs."""

    action: Action
    message: str
    fix: str


class NodeCheck(msgspec.Struct):
    """Whether the GPUs of a node are right."""

    schema: Literal["rekindle/node/1"]
    node: str
    action: Action
    """The most severe that its findings ask for."""
    findings: list[NodeFinding]
    """The most severe first."""
    drain: str | None
    """The command that takes the node out of use; None where nobody has to act on it."""


def check_node(*, drain: bool, now: bool, json: bool) -> Answer:
    """Look at this node; print one line, or with ``drain`` the command that drains it, or run that ``now``.

    Raises:
        FactsError: the node does not answer in time.
        Complaint: no batch system is known, or it has no node of such a name.
    """
    node = name_machine(os.environ).partition(".")[0]
    system = next(iter(load_rooms("drain")), None)
    if drain and system is None:
        raise Complaint("No batch system is known that could drain this node.", "leave --drain out.")
    try:
        count, found = look_at_node(_execute, node)
    except OSError as error:
        raise FactsError(f"This node starts no sh: {error.strerror}.", "see its limits and memory.") from None
    action = pick_severest(flaw.action or "NONE" for flaw in found)
    status = {"NONE": OK, "RETEST": USAGE}.get(action, FAILED)
    line = f"{node}: {action}: {_describe(action, count, found)}"
    bad = status == FAILED
    words = None
    if system and bad and (drain or json):
        words = system.make_drain(node, f"rekindle: {action}: {found[0].message}")
    check = NodeCheck(
        "rekindle/node/1",
        node,
        action,
        [NodeFinding(flaw.action or "NONE", flaw.message, flaw.fix) for flaw in found],
        system.format_drain(words) if system and words else None,
    )
    text = shorten_text(fold_line(line), _LONGEST)
    if drain and now:
        text += f" {_drain(system, words)}" if system and words else ""
    elif drain:
        text = check.drain or ""
    return print_answer(status, text, check, json)


def _describe(action: Action, count: int, found: list[Complaint]) -> str:
    more = f" (and {len(found) - 1} more)" if found[1:] else ""
    if action == "NONE":
        right = f"its {count} GPUs are right" if count > 1 else "its GPU is right"
        return f"{right}, and noted is: {found[0].message}{more}" if found else f"{right}."
    return f"{found[0]}{more}"


def _drain(system: ModuleType, words: list[str]) -> str:
    try:
        drained = system.run_drain(words)
        return "It was drained." if drained else "It is drained already, and its reason stays."
    except Complaint as error:
        return f"It is not drained: {error}"


def _execute(command: str, *, sudoable: bool, in_data: bytes) -> dict[str, Any]:
    """Run a line of sh here within a limit; what is still there then is killed, and never waited for.

    Raises:
        FactsError: it takes too long.
    """
    process = subprocess.Popen(
        ["sh", "-c", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, errors = process.communicate(in_data, timeout=_GIVEN_UP_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        message = f"This node did not answer within {_GIVEN_UP_S:g} s."
        raise FactsError(message, "see what it waits for: its disks, its memory, or its GPUs.") from None
    return {
        "rc": process.returncode,
        "stdout": out.decode(errors="replace"),
        "stderr": errors.decode(errors="replace"),
    }
