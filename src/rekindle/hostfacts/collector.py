"""The collector (roles/preflight), run on a host: in one round trip, and without Python there."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .frames import FactsError, Frames, parse

LIMITS_S = (20, 60)
"""For the probes of a first try, and for those that were late of a second one."""


def ask(
    execute: Callable[..., dict[str, Any]],
    script: Path,
    root: str,
    tmpdir: str,
    *probes: str,
    through: Sequence[str] = (),
) -> Frames:
    """Return what the host answers, which changes nothing on it; a probe that was late is tried once more.

    Args:
        execute: an action's ``_low_level_execute_command``.
        script: the collector.
        root: Rekindle's folder on the host, as the inventory has it.
        tmpdir: TMPDIR there.
        probes: names of those to try; all by default.
        through: command and options by which it is run elsewhere, such as srun's.

    Raises:
        FactsError: it failed, or what it says is no answer.
    """
    frames = Frames()
    for limit_s in LIMITS_S:
        nonce = secrets.token_hex(8)
        command = shlex.join([*through, "sh", "-s", "--", nonce, root, tmpdir, str(limit_s), *probes])
        answer = execute(command, sudoable=False, in_data=script.read_bytes())
        if answer["rc"] != 0:
            said = " ".join(answer["stderr"].split())[-500:]
            raise FactsError(f"The collector failed on the host: {said}")
        frames.update(parse(answer["stdout"], nonce))
        probes = tuple(name for name, frame in frames.items() if frame.late)
        if not probes:
            break
    return frames
