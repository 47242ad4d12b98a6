# SPDX-License-Identifier: Apache-2.0
"""Removes what those who collect logs put before every line: a rank, a container, a host, a time."""

import re
from collections import Counter
from contextlib import suppress
from typing import Any

from rekindle.records import RecordError, allow_decoding, decode_json

from .shapes import load_shapes

_SHAPES = tuple(re.compile(f"^(?:{shape})", re.MULTILINE) for shape in load_shapes("prefix"))
_NESTED = 4
_SEEN = 1 << 16
"""Characters of a text, at its end, by which its prefix is known."""
_SHARE, _FEW = 0.9, 2
"""Of the lines there; the first may be cut, and a few may come from the collector."""
_WORD = re.compile(r"([A-Za-z\[][\w.@/\[\]-]{1,80}[:>|]?)[ \t]")
_NAME = re.compile(r".*[\d\]:>|-]")
_LEVEL = re.compile(r"(?i)err|warn|fatal|crit|info|debug|fail|note|epoch|step|round|iter")
_OWN = re.compile(r"Attaching to |\S{1,64} exited with code \d|time=\"")
"""Lines of the collector's own."""
_RECORD = allow_decoding(dict[str, Any])
_KEYS = (
    ("log", "message", "msg", "event"),
    ("level", "severity", "levelname", "lvl"),
    ("error", "err"),
    ("exc_info", "exception", "traceback", "stack_trace", "stacktrace", "stack"),
)
"""How loggers of Docker, Python, Go and Java call a message, its level, its error, and a stack."""
_HOST = re.compile(r"([\w.-]{1,64}): ")


def strip_prefixes(text: str) -> str:
    """Return ``text`` without the prefixes that nearly all of its lines share, in the same lines."""
    named = False
    for _ in range(_NESTED):
        seen = [line for line in text[-_SEEN:].split("\n") if line.strip() and not _OWN.match(line)]
        prefix = next((shape for shape in _SHAPES if _shared(shape, seen)), None)
        if prefix is None and (word := _word(seen, named)):
            prefix, named = re.compile(rf"^{re.escape(word)}(?:[ \t]|$)", re.MULTILINE), True
        if prefix is None:
            break
        text = prefix.sub("", text)
    return text


def split_hosts(lines: list[str]) -> list[str]:
    """Return the host that each line begins with, where all do and their names are alike; else nothing."""
    matches = [_HOST.match(line) for line in lines]
    names = list(dict.fromkeys(match[1] for match in matches if match))
    some = sum(map(bool, map(str.strip, lines)))
    if len(names) < 2 or sum(map(bool, matches)) < _SHARE * some or not _alike(names):
        return []
    return [match[1] if match else "" for match in matches]


def _alike(names: list[str]) -> bool:
    """Whether names differ in digits, and in one place."""
    bare = [re.sub(r"\d", "0", name) for name in names]
    return all(len(name) == len(bare[0]) and sum(map(str.__ne__, name, bare[0])) < _FEW for name in bare)


def _shared(shape: re.Pattern[str], lines: list[str]) -> bool:
    return len(lines) > 1 and sum(map(bool, map(shape.match, lines))) >= _SHARE * len(lines)


def _word(lines: list[str], named: bool) -> str:
    """Return the word that nearly all lines begin with, if it names a host or a container, and no program."""
    first = Counter(match[1] for match in map(_WORD.match, lines) if match)
    word, count = next(iter(first.most_common(1)), ("", 0))
    if len(lines) < _FEW or count < _SHARE * len(lines) or _LEVEL.search(word):
        return ""
    return word if _NAME.fullmatch(word) or (named and word.islower()) else ""


def read_json_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines of a log that has a record of JSON in each line, each with the record's place.

    A line has what was logged, behind its level. Of another log it is nothing.
    """
    lines = text.split("\n")
    if not lines[0].startswith("{") or _logged(lines[0]) is None:
        return []
    records = ((at, _logged(line) or line) for at, line in enumerate(lines))
    return [(at, line) for at, record in records for line in record.rstrip("\n").split("\n")]


def _logged(line: str) -> str | None:
    """Return what a record of JSON says; None of what is none."""
    with suppress(RecordError):
        record = decode_json(line, _RECORD)
        message, level, error, raised = (
            next((record[key] for key in keys if isinstance(record.get(key), str)), "") for keys in _KEYS
        )
        if message:
            said = f"{level.upper()}: {message}" if level else message
            said += f": {error}" if error else ""
            return f"{said}\n{raised}" if raised else said
    return None
