# SPDX-License-Identifier: Apache-2.0
"""Text that came from a host, made harmless for terminals, XML and HTML."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

LONGEST = 4_000
"""Characters of a text in a record."""
_MOST = 1 << 16
"""Characters of a text that are cleaned: more than a person reads of one."""
_SHOWN = 1 << 20
"""Of one that Ansible shows, which with -vvv is a task's whole result."""

ERASE = "\x1b[J"
"""Ours, for a terminal: what is right of the cursor and below it goes."""

_SEQUENCE = re.compile(r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\x9d]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[@-~]")
"""ECMA-48: operating system commands (titles, links) and control sequences (colours, cursor). No repetition
runs over its own beginning, so that many without an end take no longer than other text.
"""

_COLOUR = re.compile(r"(\x1b\[(?:0|(?:[01];)?3[0-7])m)")

_FORBIDDEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, which a terminal obeys and XML 1.0 forbids
    r"\ud800-\udfff\ufffe\uffff"  # no characters in XML 1.0
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # turn the direction of what follows, and so hide it
)


def shorten_text(text: str, longest: int = LONGEST) -> str:
    """Return ``text`` with its middle left out if it has more than ``longest`` characters."""
    half = (longest - 3) // 2
    return text if len(text) <= longest else f"{text[:half]} … {text[-half:]}"


def clean_text(text: str, most: int = _MOST) -> str:
    """Return ``text``, cut to ``most``, without control sequences and what XML 1.0 forbids."""
    text = shorten_text(text, most)
    if text.isprintable():  # what is forbidden is not, and most texts are
        return text
    return _FORBIDDEN.sub("", _SEQUENCE.sub("", text))


def fold_line(text: str) -> str:
    """Return ``text`` clean, and every run of white space as one space."""
    return " ".join(clean_text(text).split())


def find_last_line(text: str) -> str:
    """Return the last line that has anything, without the space around it; empty if none has."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def clean_for_terminal(text: str, colour: bool) -> str:
    """Return lines with a host's texts for a terminal; ``colour`` keeps plain colours."""
    text = shorten_text(text, _SHOWN)
    parts = _COLOUR.split(text) if colour else [text]
    cleaned = (part if number % 2 else clean_text(part, _SHOWN) for number, part in enumerate(parts))
    return "".join(cleaned).replace("\r", "")


def clean_line(line: str) -> str:
    """Return one line with a host's texts for a terminal; its indentation stays."""
    line = shorten_text(line, _MOST)
    return line[: len(line) - len(line.lstrip(" "))] + fold_line(line)


def format_json(value: Any) -> str:
    """Return records as JSON for a terminal or a pipe, in ASCII, without control characters."""
    return json.dumps(msgspec.to_builtins(value), indent=2, allow_nan=False)


def list_few(names: Sequence[str], most: int = 8) -> str:
    """Return names, and beyond ``most`` how many more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return builtins with ``change`` applied to every text and name."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): change_texts(item, change) for name, item in value.items()}
    return [change_texts(item, change) for item in value] if isinstance(value, (list, tuple)) else value


def format_duration(seconds: float | None) -> str:
    """Return seconds for a person: ``47 s``, ``3 min 20 s``, ``1 h 2 min``."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
