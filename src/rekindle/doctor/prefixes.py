"""Removes what those who collect logs put before every line: a rank, a container, a time."""

import json
import re
from contextlib import suppress

_SHAPES = tuple(
    re.compile(rf"^{shape}", re.MULTILINE)
    for shape in (
        r"[\w.-]{1,64} {0,40}\| ?",  # docker compose
        r" {0,4}\d{1,5}: ",  # srun --label
        r"\[(?:[a-z]{1,16})?\d{1,5}\]:? ?",  # torchrun --tee
        r"\[\d{1,5},\d{1,5}\]<std(?:out|err)>: ?",  # mpirun --tag-output
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d) (?:std(?:out|err) [FP] )?",  # CRI
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,64} [\w.@/-]{1,64}(?:\[\d{1,10}\])?: ",  # syslog
    )
)
_NESTED = 3
_SEEN = 1 << 16
"""Characters of a text, at its end, by which its prefix is known."""
_SHARE = 0.9
"""Of the lines there; the first may be cut, and a few may come from whoever collected them."""
_JSON = '{"log":"'


def without_prefix(text: str) -> str:
    """Return ``text`` without the prefixes that nearly all of its lines share, in the same lines."""
    for _ in range(_NESTED):
        seen = [line for line in text[-_SEEN:].split("\n") if line.strip()]
        shape = next((shape for shape in _SHAPES if _shared(shape, seen)), None)
        if shape is None:
            break
        text = shape.sub("", text)
    return text


def _shared(shape: re.Pattern[str], lines: list[str]) -> bool:
    return len(lines) > 1 and sum(map(bool, map(shape.match, lines))) >= _SHARE * len(lines)


def from_json(text: str) -> str:
    """Return what a container printed, of a log that Docker keeps as JSON; another text as it is."""
    if not text.startswith(_JSON):
        return text
    return "\n".join(map(_message, text.split("\n")))


def _message(line: str) -> str:
    with suppress(ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return " ".join(json.loads(line)["log"].rstrip("\n").split("\n"))
    return line
