# SPDX-License-Identifier: Apache-2.0
"""SLURM's command that takes a node out of use."""

import os
import re

from rekindle.records import Complaint

from .commands import run_command

_LONGEST = 200
_BY_HAND = "drain it as root or SlurmUser, by the line that --drain prints without --now."
_LIMIT_S = 10.0
_UNFIT = re.compile(r"[^A-Za-z0-9 .,:;()/_+%<>@-]")
"""In a reason: what a shell or scontrol would take for its own, or sinfo cannot show."""
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_DRAINED = re.compile(r"\bState=[A-Z+*_~#]{0,99}DRAIN")


def make_drain(node: str, why: str) -> list[str]:
    """Return the words of the command that drains a node; ``why`` is cut, and without odd characters.

    Raises:
        Complaint: SLURM has no node of such a name.
    """
    if not _NODE.fullmatch(node):
        raise Complaint(f"{node!r} is no name of a SLURM node.", "set SLURMD_NODENAME.")
    reason = _UNFIT.sub("", " ".join(why.split()))[:_LONGEST].rstrip()
    return ["scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={reason}"]


def format_drain(words: list[str]) -> str:
    """Return the command as a shell reads it, with its reason in quotes."""
    *first, reason = words
    name, _, text = reason.partition("=")
    return f'{" ".join(first)} {name}="{text}"'


def run_drain(words: list[str]) -> bool:
    """Drain a node by the words of its command, unless it is drained: a reason that somebody gave stays.

    Returns whether it was drained now.

    Raises:
        Complaint: scontrol refuses, is not there, or takes too long.
    """
    name = words[2].partition("=")[2]
    shown = run_command(["scontrol", "--oneliner", "show", "node", name], os.environ, _LIMIT_S)
    if shown and shown.returncode == 0 and _DRAINED.search(shown.stdout):
        return False
    done = run_command(words, os.environ, _LIMIT_S)
    if done is None:
        raise Complaint(f"scontrol is not on PATH, or took more than {_LIMIT_S:.0f} s.", _BY_HAND)
    if done.returncode:
        said = " ".join(done.stderr.split())[:200].rstrip(".") or f"status {done.returncode}"
        raise Complaint(f"scontrol refused: {said}.", _BY_HAND)
    return True
