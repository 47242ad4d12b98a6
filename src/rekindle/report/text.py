"""Text that came from a host, made harmless: no control characters, for terminals and for XML."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|\x1b\[[0-9;]*[A-Za-z]")


def clean(text: str) -> str:
    """Return ``text`` without control characters, which XML 1.0 forbids and a terminal obeys."""
    return _CONTROL.sub("", text)


def duration(seconds: float | None) -> str:
    """Return seconds as a person says them: ``47 s``, ``3 min 20 s``."""
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
