# SPDX-License-Identifier: Apache-2.0
"""Python's tracebacks as chains of exceptions, of which the first is the cause."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rekindle.records import Layer

from .subjects import find_subject
from .texts import Text

_TRACEBACK = re.compile(
    r"(?P<inset>(?:^[ │|]{1,16})?)Traceback \(most recent call last\):(?: \(RANK \d{1,5}\))?\n"
    r"(?P<frames>(?:(?P=inset)[ ^+|~>][^\n]{0,2000}\n|\n){0,400}?)"
    r"(?P=inset)(?P<kind>(?!(?:ERROR|WARNING|INFO|error|note|hint)\b)[A-Za-z_][\w.]{0,120})(?::(?P<message>[^\n]{0,2000}))?$",
    re.MULTILINE,
)
_FRAME = re.compile(r'^[ │|>]+File "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7})', re.MULTILINE)
_FOLDERS = r"[/\\]"
_LINK = re.compile(
    r"\n(?:[^\n]{0,2000}\n){0,12}?\n"
    r"(?:The above exception was the direct cause of|During handling of the above exception,)"
)
_DETAILS = re.compile(
    r"(?:\n[^\n]{0,300}){0,3}?\n\s{1,8}status = StatusCode\.(\w{1,40})"
    r'\n\s{1,8}details = "([^"\n]{0,1000})'
)
_NEXT = re.compile(r"\n[ \t\n]{0,20}(\S[^\n]{0,300})")
"""What goes on with a message that ends with a colon."""
_MORE = re.compile(
    r"(?!Traceback|File |\S{1,64} exited |\d{4}-\d\d-\d\d|\[?[\w.-]{1,40}[\]:] )"
    r"[ \t]{0,8}[^\s\[{][^\n]{0,300}"
)
"""A further line of a message."""
_MOST_MORE = 5
_VARIES = re.compile(r"[\da-fA-F]+|:\d+")
_LAST_ERROR = re.compile(r"(?:\n[^\n]{1,500}){0,2}?\nLast error:[ \n]{1,2}([^\n]{1,500})")
"""What NCCL says of its own error, below torch's words."""
_INSTALLED = ("site-packages/", "dist-packages/", "/lib/python", "/rekindle/trainer/hook.py")
_GAP = 6000
ENDINGS = ("SignalException", "ChildFailedError", "SystemExit", "KeyboardInterrupt", "_Interrupted")
"""Exceptions that end a process on request, or report that another one failed."""
_PROGRAM = re.compile(r"\[Errno 2\] No such file or directory: '[^'/\n]{1,200}'")
"""What Python says where it was to start a program and no folder of PATH has it."""
_RAISED_AGAIN = re.compile(r"Caught \w{1,80} in ")
"""How a message begins that torch gives an exception of a worker's, whose own traceback follows."""
OF_PYTHON = re.compile(
    r"(?:builtins\.)?(?:Value|Type|Key|Index|Attribute|Name|ZeroDivision|Assertion|Syntax|UnboundLocal|Recursion|"
    r"NotImplemented|Unicode\w*|StopIteration|FileNotFound|NotADirectory|IsADirectory|Misconfiguration|ConfigAttribute)"
    r"(?:Error|Exception)?"
)
"""Types that Python itself raises for faults of a program."""


class RaisedException(NamedTuple):
    """One exception of a traceback."""

    kind: str
    message: str
    place: str
    packages: tuple[str, ...]
    """Packages and modules of the frames, the innermost last."""
    start: int
    """Where its traceback begins in the body."""
    at: int
    """Where it is named."""
    end: int
    more: str = ""
    """Further lines of its message."""

    @property
    def full_text(self) -> str:
        """Its text, with the lines after it where the text alone is vague."""
        about = find_subject(self.text) if self.more else None
        return self.text if about and not about.row.weak else f"{self.text} {self.more}".rstrip()

    @property
    def text(self) -> str:
        """Its kind, without its module, and its message."""
        return f"{self.kind.rpartition('.')[2]}: {self.message}".rstrip(": ")

    @property
    def reports(self) -> bool:
        """Whether it only reports that something else failed or ended."""
        return self.kind.endswith(ENDINGS) or bool(_RAISED_AGAIN.match(self.message))


def find_chains(text: Text) -> Iterator[tuple[RaisedException, ...]]:
    """Return the chains of exceptions in ``text``, each from the first that was raised to the last."""
    chain: list[RaisedException] = []
    for match in _tracebacks(text.body):
        between = text.body[chain[-1].end : match.start()] if chain else ""
        if chain and not (len(between) < _GAP and _LINK.match(between)):
            yield tuple(chain)
            chain = []
        chain.append(_raised(text, match))
    if chain:
        yield tuple(chain)


def _tracebacks(body: str) -> Iterator[re.Match[str]]:
    end = 0
    for begins in re.finditer(r"Traceback \(most recent call last\):", body):
        start = body.rfind("\n", 0, begins.start()) + 1
        bare = not body[start : begins.start()].strip(" │|")
        match = _TRACEBACK.match(body, start if bare else begins.start())
        if match and match.start() >= end:
            end = match.end()
            yield match


def _raised(text: Text, match: re.Match[str]) -> RaisedException:
    frames = list(_FRAME.finditer(match["frames"]))
    own = [frame for frame in frames if not any(part in frame["file"] for part in _INSTALLED)]
    last = next(reversed(own or frames), None)
    place = f"{re.split(_FOLDERS, last['file'])[-1]}:{last['line']}" if last else "an unknown place"
    packages = tuple(_package(frame["file"]) for frame in frames)
    message = (match["message"] or "").strip()
    if match[0].endswith(":"):
        more = _NEXT.match(match.string, match.end())
        message = f"{message} {more[1].strip()}" if more else message
    if packages[-1:] == ("subprocess",) and _PROGRAM.fullmatch(message):
        message += " (a program)"
    end = match.end()
    if last_error := _LAST_ERROR.match(match.string, end):
        message, end = f"{message}: {last_error[1]}", last_error.end()
    if details := _DETAILS.match(match.string, match.end()):
        message = f"{details[1]}: {details[2]}"
    further = " ".join(_further(text, text.line(match.end())))
    return RaisedException(
        match["kind"], message, place, packages, match.start(), match.start("kind"), end, further
    )


def _further(text: Text, last: int) -> Iterator[str]:
    """Yield the further lines of an exception's message: up to where another producer's line begins."""
    for number in range(last + 1, last + 1 + _MOST_MORE):
        more = _MORE.match(text.content(number)) if number <= len(text.lines) else None
        if more is None or _producer(text, number) != _producer(text, last):
            return
        yield more[0].strip()


def _producer(text: Text, number: int) -> str:
    """Return what stands before a line's message, without what differs from line to line."""
    raw, content = text.raw_line(number), text.content(number)
    return _VARIES.sub("", raw[: len(raw) - len(content)])


def _package(file: str) -> str:
    inside = re.split(r"(?:site|dist)-packages/|/lib/python[\d.]{1,5}/|/usr/lib/python3/", file)
    return inside[-1].partition("/")[0].removesuffix(".py") if len(inside) > 1 else ""


def find_exception_layer(kind: str, message: str, packages: tuple[str, ...] = ()) -> Layer:
    """Return the layer of an exception by its message's subject, its type and who raised it."""
    name = kind.rpartition(".")[2]
    about = find_subject(f"{name}: {message}")
    if about and about.row.rank == "cause" and not about.row.weak:
        return about.row.layer
    if OF_PYTHON.fullmatch(name):
        return "job"
    if about and about.row.rank != "echo" and (about.row.layer != "NVFlare" or "nvflare" in packages):
        return about.row.layer
    return "NVFlare" if kind.startswith("nvflare.") else "job"
