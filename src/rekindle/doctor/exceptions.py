# SPDX-License-Identifier: Apache-2.0
"""Python's tracebacks as chains of exceptions, of which the first is the cause."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rekindle.records import Finding, Layer

from .catalogue import Rank
from .scan import cut_line, find_advice
from .subjects import Level, find_subject
from .texts import Text

_TRACEBACK = re.compile(
    r"(?P<inset>(?:^(?:[ │|]{1,16}|[\w.-]{1,40}: ))?)"
    r"Traceback \(most recent call last\):(?: \(RANK \d{1,5}\))?\n"
    r"(?P<frames>(?:(?P=inset)[ ^+|~>][^\n]{0,2000}\n|\n){0,400}?)"
    r"(?P=inset)(?P<kind>(?!(?:ERROR|WARNING|INFO|error|note|hint)\b)[A-Za-z_][\w.]{0,120})(?::(?P<message>[^\n]{0,2000}))?$",
    re.MULTILINE,
)
_FRAME = re.compile(
    r'^[ │|>]+File "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7})(?:, in (?P<name>\S{1,100}))?',
    re.MULTILINE,
)
_COMPILED = re.compile(
    r'^(?P<frames>[ ]{2}File "[^"\n]{1,400}", line \d{1,7}\n(?:[^\n]{0,2000}\n){1,3}?)'
    r"(?P<kind>(?:Syntax|Indentation|Tab)Error): (?P<message>[^\n]{0,2000})$",
    re.MULTILINE,
)
"""What Python says of the script that it is given, of which it runs nothing: no traceback."""
_FOLDERS = r"[/\\]"
_PACKAGE = re.compile(r"(?:-packages/|/python[\d.]{1,6}/(?!(?:site|dist)-)|<frozen )(?P<module>[\w/]{1,200})")
"""An installed package's file, or one of Python's own."""
_LINK = re.compile(
    r"\n(?:[^\n]{0,2000}\n){0,12}?\n"
    r"(?:The above exception was the direct cause of|During handling of the above exception,)"
)
_MISMADE = re.compile(r"AttributeError|NameError|UnboundLocalError")
"""What a program raises whose parts do not fit each other; settings that do not fit raise TypeError, too."""
_FAULT = (
    "Take another release of NVFlare, the next or the one before, as {place} is its own code and no frame is "
    "the job's; or give what the message says is missing there."
)
_MORE = re.compile(
    r"(?!Traceback|File |\S{1,64} exited |\d{4}-\d\d-\d\d|\[?[\w.-]{1,40}[\]:] )"
    r"[ \t]{0,16}[^\s\[{][^\n]{0,300}"
)
"""A further line of a message."""
_COUNTS = re.compile(r"\d{1,9} validation errors? for ")
"""A message of pydantic's that names what is wrong in the next lines."""
_MOST_MORE = 5
_INSTALLED = re.compile(
    r"(?:site|dist)-packages/|/lib/python|<frozen |/rekindle/trainer/|/bin/[\w-]{1,60}$|\.pxi?$|\.pyx$"
)
"""What no job brings: packages, Python's own, and the programs that packages install."""
_QUOTED = 200
_REPORTS = re.compile(
    r"\w{0,60}(?:SignalException|ChildFailedError|SystemExit|KeyboardInterrupt|_Interrupted)(?::|$)|"
    r"\w{1,120}: Caught \w{1,80} in |RuntimeError: request to abort the job for reason"
)
"""What ends a process on request, or reports of another, whose own traceback follows."""
_INTRODUCES = re.compile(
    r"[\s:]*\n(?:[^\n]{0,200}\n){0,3}?(?:Original )?Traceback \(most recent call last\):"
)
"""Follows an exception that has no message but another process's traceback."""


class RaisedException(NamedTuple):
    """One exception of a traceback."""

    kind: str
    message: str
    place: str
    start: int
    """Where its traceback begins in the body."""
    at: int
    """Where it is named."""
    end: int
    more: str = ""
    """What goes on with its message in the next lines."""
    remedy: str = ""
    """What to do about one of which no more is known, if an installed package raises it."""
    raiser: str = ""
    """The module of its last frame; ``<module>`` if a package raises as it is imported."""
    introduces: bool = False
    """Whether another process's traceback is all its message."""
    fault: bool = False
    """Whether NVFlare's own code, which no other called, does what its release cannot."""

    @property
    def text(self) -> str:
        """Its kind, without its module, and its message."""
        return f"{self.kind.rpartition('.')[2]}: {self.message}".rstrip(": ")

    @property
    def reports(self) -> bool:
        """Whether it only reports that something else failed or ended."""
        return self.introduces or bool(_REPORTS.match(self.text))


def find_chains(text: Text) -> Iterator[tuple[RaisedException, ...]]:
    """Return the chains of exceptions in ``text``, each from the first that was raised to the last."""
    chain: list[RaisedException] = []
    for match in _tracebacks(text.body):
        between = text.body[chain[-1].end : match.start()] if chain else ""
        if chain and not _LINK.match(between):
            yield tuple(chain)
            chain = []
        chain.append(_raised(text, match))
    if chain:
        yield tuple(chain)


def _tracebacks(body: str) -> Iterator[re.Match[str]]:
    found = list(_raised_in(body))
    inside = [range(*match.span()) for match in found]
    found += [match for match in _COMPILED.finditer(body) if not any(match.start() in one for one in inside)]
    yield from sorted(found, key=lambda match: match.start())


def _raised_in(body: str) -> Iterator[re.Match[str]]:
    for begins in re.finditer(r"Traceback \(most recent call last\):", body):
        start = body.rfind("\n", 0, begins.start()) + 1
        if match := _TRACEBACK.match(body, start) or _TRACEBACK.match(body, begins.start()):
            yield match


def _raised(text: Text, match: re.Match[str]) -> RaisedException:
    inset = match.groupdict().get("inset") or " "
    frames = list(_FRAME.finditer(match["frames"].replace(inset, " ")))
    own = [frame for frame in frames if not _INSTALLED.search(frame["file"])]
    last = next(reversed(own or frames), None)
    place = f"{re.split(_FOLDERS, last['file'])[-1]}:{last['line']}" if last else "an unknown place"
    message = (match["message"] or "").strip()
    number = text.line(match.end())
    more = " ".join(_further(text, number))
    if match[0].endswith(":"):
        message, more = f"{message} {find_next(text, number)}", ""
    elif _COUNTS.match(message):
        message, more = f"{message}: {more}", ""
    inside = _PACKAGE.search(frames[-1]["file"]) if frames else None
    module = inside["module"] if inside else ""
    at = "<module>" if inside and frames[-1]["name"] == "<module>" else module
    ends = match.start(), match.start("kind"), match.end()
    gives = f"See what {place if own else 'the job'} gives to {module.partition('/')[0]}"
    of_package = inside and "-packages/" in inside[0]
    remedy = f"{gives}, which raises this: settings, arguments and data." if of_package else ""
    fault = bool(not own and _MISMADE.fullmatch(match["kind"]) and module.partition("/")[0] == "nvflare")
    introduces = not (match["message"] or "").strip() and bool(_INTRODUCES.match(text.body, match.end()))
    return RaisedException(match["kind"], message, place, *ends, more, remedy, at, introduces, fault)


def find_next(text: Text, number: int) -> str:
    """Return the next line that is not empty: it goes on with one that ends with a colon."""
    following = text.lines[number : number + _MOST_MORE]
    return next((line.strip() for line in following if line.strip()), "")


def _further(text: Text, last: int) -> Iterator[str]:
    """Yield the further lines of an exception's message: up to where another producer's line begins."""
    for number in range(last + 1, min(last + _MOST_MORE, len(text.lines)) + 1):
        more = _MORE.match(text.content(number))
        if more is None or _measure_prefix(text, number) != _measure_prefix(text, last):
            return
        yield more[0].strip()


def _measure_prefix(text: Text, number: int) -> int:
    """Return how long is what stands before a line's message: another producer's differs."""
    return len(text.raw_line(number)) - len(text.content(number))


def explain_exception(raised: RaisedException, last: RaisedException, who: str = "") -> tuple[Finding, Rank]:
    """Return what is known of an exception by its message and its type, and its rank.

    Args:
        raised: the one that began.
        last: of its chain.
        who: raised it; nothing if that is not known.
    """
    where, said = f"raised in {raised.raiser}", [f"{one.text} {one.more}" for one in (raised, last)]
    said_by = [*said, f"{raised.text} {where}"] if raised.message else [where, *said]
    about = min(filter(None, map(find_subject, said_by)), key=lambda one: one.level, default=None)
    row = about.row if about else None
    known = row if about and about.level < Level.WEAK else None
    known = None if raised.fault and known and known.layer == "job" else known
    ours = known if known and known.tells != "little" else None
    then = f", then {cut_line(last.text, 120)}" if last is not raised and not last.reports else ""
    quoted = cut_line(f"{raised.text} {raised.more}" if ours else raised.text, 90 if then else _QUOTED)
    quoted = f"{quoted.rstrip('.')} at {raised.place}{then}"
    meaning = f"{ours.meaning}: {quoted}" if ours and ours.meaning else f"A process raised {quoted}."
    of_nvflare: Layer = "NVFlare" if raised.fault or raised.kind.startswith("nvflare.") else "job"
    advised = _FAULT.format(place=raised.place) if raised.fault else find_advice(said[0])
    finding = Finding(
        name="exception",
        cause=f"{who} raised {quoted}." if who else meaning,
        layer=known.layer if known else of_nvflare,
        remedy=ours.remedy if ours else advised or raised.remedy or f"Correct what raises at {raised.place}.",
        confidence="certain" if who else "likely",
    )
    return finding, "symptom" if row and row.rank in ("symptom", "echo") else "cause"
