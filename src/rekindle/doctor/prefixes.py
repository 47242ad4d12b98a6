# SPDX-License-Identifier: Apache-2.0
"""What collectors of logs put before every line: a rank, a container, a host, a time; and who printed it."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from rekindle.flare.log import TRAINERS
from rekindle.records import RecordError, allow_decoding, decode_json

from .shapes import load_shapes

_SHAPES = load_shapes("prefix")
_LINES = tuple(re.compile(f"^(?:{shape})", re.MULTILINE) for shape in _SHAPES)
_PRODUCER = re.compile(
    r"\s{0,4}(?:\d{4}-\d\d-\d\d[T ][\d:.,Z+-]{8,30} )?(?:([\w.-]{1,64}) {0,10}\| )?"
    f"(?:{'|'.join(_SHAPES)})"
)
_NESTED = 4
_SEEN = 1 << 16
"""Characters of a text, at its end, by which its prefix is known."""
_SHARE, _FEW = 0.9, 2
"""Of the lines there; the first may be cut, and a few may come from the collector."""
_WORD = re.compile(r"([A-Za-z\[][\w.@/\[\]-]{1,80}[:>|]?)[ \t]")
_NAME = re.compile(r"[\d\]>|-]")
_LEVEL = re.compile(r"(?i)err|warn|fatal|crit|info|debug|fail|note|epoch|step|round|iter")
_OWN = re.compile(r"Attaching to |\S{1,64} exited with code \d|time=\"|\[\+\] |\s{1,4}[✔⠿✘] |\$ ")
"""Lines of the collector's own, and of who called it."""
_LOGGED = 120
TRAINER = "trainer"
_RECORD = allow_decoding(dict[str, Any])
_KEYS = (
    ("log", "message", "msg", "event"),
    ("level", "severity", "levelname", "lvl"),
    ("error", "err"),
    ("exc_info", "exception", "traceback", "stack_trace", "stacktrace", "stack"),
)
"""How loggers of Docker, Python, Go and Java call a message, its level, its error, and a stack."""


def strip_prefixes(text: str) -> str:
    """Return ``text`` without the prefixes that nearly all of its lines share, in the same lines."""
    for prefix in _shared(text):
        text = prefix.sub("", text)
    return text


def find_producer(line: str) -> str:
    """Return the rank, the container or the trainer that printed a line, or nothing."""
    if any(f" - {name} - " in line[:_LOGGED] for name in TRAINERS):
        return TRAINER
    match = _PRODUCER.match(line)
    return match[match.lastindex] if match and match.lastindex else ""


def find_producers(text: str) -> list[str]:
    """Return who printed each line of a text: by what all begin with, else by the line itself."""
    named = [prefix for prefix in _shared(text) if prefix.groups]
    by = [
        next((match[match.lastindex or 0] for one in named if (match := one.match(line))), "")
        or find_producer(line)
        for line in text.split("\n")
    ]
    return ["" if one == TRAINER else one for one in by]


def _shared(text: str) -> Iterator[re.Pattern[str]]:
    """Yield what nearly all lines begin with, the outermost first."""
    seen = [line for line in text[-_SEEN:].split("\n") if line.strip() and not _OWN.match(line)]
    named = False
    for _ in range(_NESTED if len(seen) >= _FEW else 0):
        prefix = next(
            (one for one in _LINES if sum(map(bool, map(one.match, seen))) >= _SHARE * len(seen)), None
        )
        if prefix is None:
            prefix, named = _word(seen, named), True
        if prefix is None:
            return
        yield prefix
        seen = [prefix.sub("", line) for line in seen]


def _word(lines: list[str], named: bool) -> re.Pattern[str] | None:
    """Return the word that nearly all lines begin with, if it names a host or a container, and no program.

    Names of hosts, before a colon, may differ in their numbers.
    """
    words = (match[1] for match in map(_WORD.match, lines) if match)
    first = Counter(re.sub(r"\d+", "0", word) if word.endswith(":") else word for word in words)
    word, count = next(iter(first.most_common(1)), ("", 0))
    if count < _SHARE * len(lines) or _LEVEL.search(word):
        return None
    if not (_NAME.search(word) or (named and word.islower())):
        return None
    shape = re.escape(word).replace("0", r"\d{1,9}") if word.endswith(":") else re.escape(word)
    return re.compile(rf"^({shape})(?:[ \t]|$)", re.MULTILINE)


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
