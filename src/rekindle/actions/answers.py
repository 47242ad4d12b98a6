# SPDX-License-Identifier: Apache-2.0
"""What a module of Rekindle's own answers on a host: its last line, a table in JSON."""

import shlex
from collections.abc import Callable, Iterable
from typing import Any

from rekindle.records import RecordError, allow_decoding, decode_json
from rekindle.records.text import fold_line

from .clock import take_last_line

_ANSWER = allow_decoding(dict[str, Any])


def make_command(python: str, payload: str, *module: str, through: Iterable[str] = ()) -> str:
    """Return the command that runs a module of the payload, with its arguments, ``through`` another."""
    return f"PYTHONPATH={shlex.quote(payload)} {shlex.join([*through, python, '-m', *module])}"


def ask_host(
    execute: Callable[[str], dict[str, Any]], host: str, command: str, longest: int, fix: str
) -> dict[str, Any]:
    """Return the answer.

    Args:
        execute: runs a command on the host.
        host: its name.
        command: of `make_command`.
        longest: characters that an answer may have.
        fix: of a host that does not answer.

    Raises:
        RecordError: it did not answer, with what it printed instead.
    """
    printed = execute(command)
    try:
        return decode_json(take_last_line(printed)[:longest], _ANSWER)
    except RecordError:
        # A terminal, as ssh -tt has one, makes both one.
        why = fold_line(" ".join(str(printed[stream])[-500:] for stream in ("stderr", "stdout")))
        raise RecordError(f"{host} did not answer: {why}", fix) from None
