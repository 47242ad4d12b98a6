# SPDX-License-Identifier: Apache-2.0
"""Results of Ansible's tasks in a log: of which host, and what their modules say."""

import re

from .subjects import find_subject
from .texts import Text

_FAILED = re.compile(
    r"(?:(?:fatal|failed): \[(?P<host>[^\]\s]{1,200})[^=]{0,300}=>|"
    r"(?P<alone>[\w.-]{1,200}) \| (?:FAILED|UNREACHABLE)!?[^=>\n]{0,40}(?:=>|>>)) ?"
)
"""A task's result in a play, or of a module that was run alone."""
_MORE = re.compile(r"(?:\n(?:[ \t]{1,40}\S[^\n]{0,2000}|\}|[ \t]{0,40}(?=\n +\S))){1,200}")
"""The rest of a result that is shown in several lines, as JSON or YAML."""
_TEXTS = re.compile(
    r'"(msg|stderr|module_stderr|module_stdout|stdout|reason|exception)": "((?:[^"\\]|\\.){1,3000})"'
)
_YAML = re.compile(
    r"^ {2}(?:msg|stderr|module_stderr|module_stdout|reason): (?:[|>][-+]?\n)?"
    r"((?:[^\n]{0,2000}\n?)(?: {4}[^\n]{0,2000}\n?){0,40})",
    re.MULTILINE,
)
_ESCAPES = re.compile(r"\\(?:r\\n|n|r|t)|\\(?=[\"'\\])")
_IGNORED = "...ignoring"
"""What Ansible prints after a failure that the play goes on from."""
_RECAP = re.compile(r"^(\S{1,200})\s+: ok=\d+\s+changed=\d+\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


def find_failed_task(line: str) -> tuple[str, str] | None:
    """Return the host of a task that failed, and what its module says; else None."""
    match = _FAILED.match(line)
    if match is None:
        return None
    return match["host"] or match["alone"], _text(line[match.end() :])


def read_rest(body: str, start: int, end: int) -> str:
    """Return the lines in which the result goes on whose first is from ``start`` to ``end``; or nothing."""
    more = _MORE.match(body, end) if _FAILED.match(body, start, end) else None
    return more[0] if more else ""


def unescape_json(text: str) -> str:
    """Return ``text`` without the escapes that JSON has."""
    return _ESCAPES.sub(" ", text)


def find_settled_hosts(text: Text) -> set[str]:
    """Return the hosts for which Ansible's recap has neither failed nor unreachable."""
    if ": ok=" not in text.body:
        return set()
    return {match[1] for match in _RECAP.finditer(text.body) if match[2] == match[3] == "0"}


def is_ignored(text: Text, last: int) -> bool:
    """Return whether the play ignores a result of which ``last`` is the last line."""
    return [line.strip() for line in text.lines[last : last + 1]] == [_IGNORED]


def _text(result: str) -> str:
    """Return the text of a result: the longest that has a cause."""
    texts = [unescape_json(match[2]) for match in _TEXTS.finditer(result)]
    texts += [match[1] for match in _YAML.finditer(result)]
    texts.sort(key=lambda text: (not ((about := find_subject(text)) and about.is_certain), -len(text)))
    return " ".join((texts[0] if texts else unescape_json(result)).split())
