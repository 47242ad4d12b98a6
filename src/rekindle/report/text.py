"""Text that came from a host, made harmless for terminals, XML and HTML."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]")
"""ECMA-48: operating system commands (titles, links) and control sequences (colours, cursor)."""

_FORBIDDEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, which a terminal obeys and XML 1.0 forbids
    r"\ud800-\udfff\ufffe\uffff"  # no characters in XML 1.0
    r"\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # turn the direction of what follows, and so hide it
)


def clean(text: str) -> str:
    """Return ``text`` with neither control sequences nor characters that XML 1.0 forbids."""
    return _FORBIDDEN.sub("", _SEQUENCE.sub("", text))


def one_line(text: str) -> str:
    """Return ``text`` clean, and every run of white space as one space."""
    return " ".join(clean(text).split())


def duration(seconds: float | None) -> str:
    """Return seconds as a person says them: ``47 s``, ``3 min 20 s``, ``1 h 2 min``."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
