# SPDX-License-Identifier: Apache-2.0
"""What a text reports: the catalogue's failures, exceptions, and lines that report an error."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rekindle.flare.log import WENT_ON, is_nvflare_log
from rekindle.records import Finding, Layer

from . import exceptions
from .ansible_results import find_failed_task, find_settled_hosts, is_ignored, read_rest
from .catalogue import Rank
from .prefixes import TRAINER, find_producer
from .roles import MemberLogs, add_last_words, find_contact, find_overcome
from .scan import DOUBTS, SHORT, Match, find_advice, make_find, quote_place, search_catalogue
from .shapes import load_shape
from .subjects import Level, Meaning, Subject, find_subject
from .texts import Text

_CUT, _BEFORE = 4000, 200
_LEVEL, _INFORMS, _BENIGN, _PROGRESS, _LASTS, _FAILS, _CONTEXT, _ENDED = map(
    load_shape, ("level", "informs", "benign", "progress", "lasts", "fails", "context", "ended")
)
_GOES_ON = re.compile(
    r"\s*(?:Caused by:|[├╰]─[▶>](?! \[)|│ +(?=\()|status = |details = |hint: (?=An index URL)|"
    r"(?=<Error>)|\[?msg\]?:)\s*"
)
_HINT = re.compile(r"\s*(?:hint|help|tip|suggestion|possible (?:fix|solution)s?): ?", re.IGNORECASE)
"""Begins a line in which a program says what to do about the error before it."""
_ASKED = re.compile(r"srun: forcing|\*\*\* (?:STEP|JOB) ")
_BOOTED = re.compile(r"NVRM: loading NVIDIA UNIX")
_KILLED, _CUT_OFF = "A process was killed", "A connection fails"
_READ = "Read this line and those around it."
_NOTHING = Subject(Meaning("job", "", rank="symptom", tells="little"), 0, 0, Level.NAME)
"""What a message is about of which no word is known."""
_FOLLOWS = 40
"""Lines before what reports that a program ended."""
_BAR = re.compile(r".{0,200}?\b\d{1,12}/\d{1,12}(?= \[)")
"""How far a progress bar is: at a crash it is often shown once more."""
_IGNORED = "Exception ignored in"
"""Begins what Python prints of an exception as it removes an object, which ends nothing."""


class ReportLine(NamedTuple):
    """One line of a text that may report an error, or that the work goes on."""

    number: int
    text: str
    """Without prefixes, and cut; with the cause that it names."""
    through: int
    """The last line of a message of several."""
    level: bool
    """Whether it is marked as an error."""
    warns: bool
    """Whether it is marked as less than an error."""
    progress: bool
    layer: Layer | None
    """Of an error of which no word is known: by who printed it."""
    hint: str = ""
    """What its program says to do about it, in a line of its own."""


class Known(NamedTuple):
    """What is known of a run beside the text that is read."""

    installed: Mapping[str, str]
    """Versions by package."""
    failed: bool | None
    """Whether it failed, or (False) ended well; None: what a text itself went on from is settled."""
    members: MemberLogs
    """Of its workspace: what their connections report when the server is gone is an echo."""


def find_reports(text: Text, known: Known) -> list[Match]:
    """Return what the text of one file, or the part of it that one rank wrote, reports, in order."""
    found = list(search_catalogue(text, known.installed))
    sure = [one for one in found if not one.doubt]
    inside = {line for one in sure if one.rank != "echo" for line in one.covers}
    told = {line for one in sure if one.rank != "symptom" for line in one.covers}
    for chain in exceptions.find_chains(text):
        lines = range(text.line(chain[0].start), text.line(chain[-1].end) + 1)
        if told.isdisjoint(lines):
            found += _raised(text, chain, lines)
        inside.update(lines)
    seen = list(_lines(text))
    settled = find_settled_hosts(text)
    for line in seen:
        if line.number not in inside and _IGNORED not in text.content(max(1, line.number - 1)):
            found += _single(text, line, settled)
    course = _find_course(text, seen, known.members)
    judged = [_judge(text, add_last_words(one, text), course, known.members) for one in found]
    if known.failed is not None:
        judged = [one._replace(settled=not known.failed) for one in judged]
    last = max((one.at for one in judged if one.fails), default=0)
    return sorted((one for one in judged if one.rank != "warning" or one.at < last), key=lambda one: one.at)


def find_followed(text: Text, found: Iterable[Match], echo: Match) -> Match | None:
    """Return what a report follows from that only says that a program ended: an error, of no known layer.

    It is the first that its text has before it; else the last line before it that may say one, or the first
    after it.
    """
    if is_nvflare_log(text.raw):  # it has what each process did last
        return None
    if unknown := next((one for one in found if one.fails and one.at < echo.at), None):
        return unknown
    covered = {line for one in found for line in one.covers}
    before = range(echo.at - 1, max(0, echo.at - _FOLLOWS), -1)
    for number in (*before, *range(echo.at + 1, min(text.last, echo.at + _FOLLOWS) + 1)):
        line = _line(text, number, of_nvflare=False)
        if number not in covered and _FAILS.search(line.text) and not _BENIGN.search(line.text):
            return next(_single(text, line._replace(level=True, warns=False), set()), None)
    return None


class _Course(NamedTuple):
    """How far what wrote a text got: numbers of lines, 0 for none."""

    asked: int
    """In which a scheduler asked all processes to end."""
    went_on: Mapping[str, int]
    """The last of each process, and of all of them, that shows progress."""
    contact: int
    """In which a site last reached the server with a result."""
    overcome: int
    """Before it a site went on from all that it printed."""
    finished: int
    """Before it a site may have."""
    booted: int
    """In which the kernel last loaded the GPUs' driver: what it logged before may be another boot's."""


def _find_course(text: Text, seen: list[ReportLine], members: MemberLogs) -> _Course:
    asked = next((text.line(match.start()) for match in _ASKED.finditer(text.body)), text.last)
    last = {find_producer(text.raw_line(one.number)): one.number for one in seen if one.progress}
    went_on = {**last, "": max(last.values(), default=0)}
    booted = max((text.line(match.start()) for match in _BOOTED.finditer(text.body)), default=0)
    return _Course(asked, went_on, find_contact(text), *find_overcome(text, members), booted)


def _judge(text: Text, one: Match, course: _Course, members: MemberLogs) -> Match:
    """Return what was found with whether it is an echo, and whether the process that printed it went on.

    It is one where a peer is gone, which is no failure if that had come to its end, and after the line in
    which a scheduler asked all processes to end. A connection came back if a result was sent later.
    """
    lost = one.finding.layer == "network" or one.finding.cause.startswith(_CUT_OFF)
    early = frozenset(line for line in one.covers if not members.is_lost(text, line))
    killed = one.at > course.asked and one.finding.cause.startswith(_KILLED)
    raw = text.raw_line(one.at)
    lasts = not one.doubt and one.at > course.booted and bool(_LASTS.search(raw))
    nvflares = lost and find_producer(text.raw_line(min(one.covers))) != TRAINER
    by = "" if one.at < course.booted else find_producer(raw)
    until = max(course.went_on.get(by, 0), course.contact if nvflares else 0)
    stands = lasts or max(early) >= max(until, course.overcome) if early else not members.over
    rank: Rank = "echo" if killed or not early else one.rank
    if rank in ("cause", "symptom") and early and max(early) < course.finished and not lasts:
        rank = "guess"
    return one._replace(covers=early, rank=rank, settled=not stands)


def _raised(
    text: Text, chain: tuple[exceptions.RaisedException, ...], lines: Iterable[int]
) -> Iterator[Match]:
    """Yield what a chain of exceptions reports: the first of them that has a message."""
    ignored = _IGNORED in text.body[max(0, chain[0].start - _BEFORE) : chain[0].start]
    causes = [one for one in chain if not (one.reports or ignored)]
    if root := next((one for one in causes if one.message), next(iter(causes), None)):
        finding, rank = exceptions.explain_exception(root, chain[-1])
        yield make_find(text, text.line(root.at), rank, finding, lines)


def _single(text: Text, line: ReportLine, settled: set[str]) -> Iterator[Match]:
    """Yield what a line reports: an error by its mark, or by words of a failure that are known."""
    message = _CONTEXT.sub("", line.text).strip()
    ansible = find_failed_task(line.text)
    if ansible:
        host, result = ansible
        if host in settled or is_ignored(text, line.through):
            return
        message = f"Ansible on {host}: {result}"
    about = find_subject(message) or _NOTHING
    row, sure = about.row, about.is_sure
    fails = row.tells != "little" and (about.level <= Level.CODE or _FAILS.search(message))
    reports = (fails and about.is_certain) if line.warns else (line.level or fails)
    if not ansible and not (reports and not _BENIGN.search(line.text)):
        return
    layer = line.layer if about is _NOTHING else row.layer
    meaning = f"{row.meaning}: " if row.meaning else ""
    finding = Finding(
        name=f"{layer.lower()}_error" if layer else "unknown_error",
        cause=meaning + quote_place(message, about.start, SHORT - len(meaning)),
        layer=layer,
        remedy=row.remedy if sure else f"{_READ} {_advise(line, message) or row.remedy}".strip(),
        confidence="likely" if sure else "possible",
    )
    lines = range(line.number, line.through + 1)
    rank = "warning" if line.warns else row.rank
    yield make_find(text, line.number, rank, finding, lines)._replace(doubt=DOUBTS[row.tells])


def _advise(line: ReportLine, message: str) -> str:
    return find_advice(line.hint) or find_advice(message)


def _lines(text: Text) -> Iterator[ReportLine]:
    """Yield the lines of ``text``, in order.

    What only goes on with a message is joined to it; a bar that was shown before is no progress. The last
    line of a service that ended is an error, as programs say last why they end.
    """
    last: ReportLine | None = None
    bars: set[str] = set()
    of_nvflare = is_nvflare_log(text.raw)
    for number, content in enumerate(text.lines, 1):
        if not content.strip() or (last and number <= last.through):
            continue
        line = _line(text, number, of_nvflare)
        goes_on = _GOES_ON.match(line.text)
        if last and goes_on:
            more = f"{last.text.rstrip(':')}: {line.text[goes_on.end() :]}"
            last = last._replace(text=more[:_CUT], level=True, through=number)
            continue
        if last and (hint := _HINT.match(line.text)):
            last = last._replace(hint=line.text[hint.end() :])
            continue
        if line.progress and (bar := _BAR.match(line.text)):
            line = line._replace(progress=bar[0] not in bars)
            bars.add(bar[0])
        if last:
            ended = _ENDED.search(line.text) and not last.progress
            yield last._replace(level=True, warns=False, layer=last.layer or "host") if ended else last
        last = line
    if last:
        yield last


def _line(text: Text, number: int, of_nvflare: bool) -> ReportLine:
    content = text.content(number)[:_CUT]
    message = content.strip()
    more = read_rest(text.body, text.start(number), text.start(number) + len(text.content(number)))
    if more:
        message += more
    elif message.endswith(":"):
        message = f"{message} {exceptions.find_next(text, number)}"
    raw = text.raw_line(number)[:_CUT]
    trainers = find_producer(raw) == TRAINER
    printed = raw.strip()
    level = bool(_LEVEL.search(printed) or _LEVEL.search(message))
    informs = _INFORMS.search(printed) or _INFORMS.search(message)
    progress = WENT_ON if of_nvflare and not trainers else _PROGRESS
    return ReportLine(
        number=number,
        text=message,
        through=number + more.count("\n"),
        level=level,
        warns=bool(informs) and not level,
        progress=bool(progress.search(content)) and not _FAILS.search(content),
        layer="job" if trainers else None,
    )
