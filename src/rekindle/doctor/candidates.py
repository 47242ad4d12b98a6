# SPDX-License-Identifier: Apache-2.0
"""What in a text may be the cause of a failure: exceptions, and single lines that report an error."""

import re
from typing import NamedTuple

from rekindle.records import Layer

from . import exceptions
from .ansible_results import failed_task, plain, settled_hosts
from .catalogue import Rank
from .lines import Line, stream
from .producers import producer
from .scan import known, one_line
from .shapes import shape
from .subjects import Subject, subject
from .texts import Text

_WORDS, WEAK = 4, 3
_SPECIFIC = 15
"""Letters of words that name a fault even where others of their row do not."""
_OWN: tuple[Layer, ...] = ("host", "driver")
"""Layers of those who report only what is theirs."""
_VARIED: tuple[Layer, ...] = ("job", "framework")
"""Layers of which anything can be said, in words that others use too."""
_LEAD = re.compile(
    r"^(?:\[\s?\d?[\d.:,T/+ Z-]{4,40}\]\s?|\d[\d:.,T/+ Z-]{7,40}(?: - |: | )|"
    r"[EWF]\d{4} [\d:.]{6,20} +\d+ |E: |ERROR\s?!?:? |error: |Error: )?"
)
_CONTEXT = shape("context")
_RETRIED = re.compile(r"(?i)\bre-?try")
_RAISED = re.compile(r"\b([A-Z]\w{2,40}Error): (?![A-Z]\w{2,40}Error: )")
_FAILS = shape("fails")
_MISSES = shape("misses")


class Candidate(NamedTuple):
    """A line or an exception that may name the cause."""

    number: int
    message: str
    rank: Rank
    layer: Layer
    remedy: str
    focus: int
    """Where in the message its subject stands."""
    stream: str
    """The rank that printed it."""
    lasts: bool
    """Whether no later success takes it back."""
    meaning: str = ""
    """What goes wrong, in a few words."""
    name: str = ""
    """Of the finding; else one by its layer."""
    through: int = 0
    """The last line of an exception."""
    weak: bool = False
    """Whether its words say little."""
    vague: bool = False
    """Whether its words may be a mere name."""
    benign: bool = False
    """Whether its own words are that it does not matter."""
    doubts: int = 0
    """How many signs there are that it is not what it is taken for; `WEAK` and more are beyond help."""
    agrees: bool = True
    """Whether more than one thing tells its layer: its words, who printed it; or it is an exception."""
    asserts: bool = False
    """Whether it only says what the job misses: an assertion, or that there is no GPU."""
    warns: bool = False
    """Whether it is a warning: the cause only of what says little itself."""


def candidates_in(text: Text, found: list[Line]) -> list[Candidate]:
    """Return the exceptions of ``text``, chain by chain, then the lines among ``found`` outside of them."""
    settled = settled_hosts(text)
    chained: list[Candidate] = []
    inside: set[int] = set()
    for chain in exceptions.chains(text):
        first, last = text.line(chain[0].start), text.line(chain[-1].end)
        inside.update(range(first, last + 1))
        if "Exception ignored in" not in text.body[max(0, chain[0].start - 200) : chain[0].start]:
            chained += _exception(text, chain)
    single = []
    for index, line in enumerate(found):
        if line.number in inside:
            continue
        if one := _single(line, settled, found[index + 1 : index + 2]):
            single.append(one)
    return [*chained, *single]


def _exception(text: Text, chain: tuple[exceptions.Raised, ...]) -> list[Candidate]:
    causes = [one for one in chain if not one.reports]
    root = next(filter(_names_cause, causes), next(iter(causes), None))
    if root is None or _is_known(root.text):
        return []
    about = subject(root.full_text)
    layer = exceptions.layer(root.kind, root.full_text.partition(": ")[2], root.packages)
    ours = about and about.row.layer == layer and not about.row.weak
    last = chain[-1]
    more = f", then {last.text}" if last is not root and not last.reports else ""
    raised = f"{one_line(root.full_text if ours else root.text, 90 if more else 300)} at {root.place}{more}"
    remedy = about.row.remedy if about and ours else f"Correct what raises at {root.place}."
    rank: Rank = "symptom" if about and about.row.rank in ("symptom", "echo") else "cause"
    number = text.line(root.at)
    meaning = about.row.meaning if about and ours else ""
    return [
        Candidate(
            number=number,
            message=f"{meaning}: {raised}" if meaning else f"A process raised {raised}.",
            rank=rank,
            layer=layer,
            remedy=remedy,
            focus=0,
            stream=stream(text.raw_line(number)),
            lasts=False,
            name="exception",
            through=text.line(last.end),
            doubts=0 if root.message else WEAK,
            vague=not root.message,
            asserts=root.kind == "AssertionError" or bool(_MISSES.search(root.message)),
        )
    ]


def _names_cause(raised: exceptions.Raised) -> bool:
    """Whether the words of an exception say what goes wrong."""
    about = subject(raised.full_text)
    return about is not None and about.row.rank == "cause" and not about.row.weak


def _is_known(exception: str) -> bool:
    """Whether an entry of the catalogue covers all of an exception, or that it only follows from others."""
    entry = known(exception, {})
    return entry is not None and (entry.rank == "echo" or (entry.rank == "cause" and not entry.generic))


def _single(line: Line, settled: set[str], following: list[Line]) -> Candidate | None:
    message = plain(_CONTEXT.sub("", _LEAD.sub("", line.text))).strip()
    ansible = failed_task(line.text)
    if ansible:
        host, result = ansible
        if host in settled or any("...ignoring" in after.text for after in following):
            return None
        message = f"Ansible on {host}: {result}"
    about = subject(message)
    level = line.level or bool(ansible)
    layer, rank = _kind(line, about)
    retried = rank == "cause" and layer == "network" and line.benign and _RETRIED.search(line.text)
    if not level and not (about and not about.row.weak and _FAILS.search(message)):
        return None
    warns = bool(about and line.warns and not level and not line.benign and about.row.rank == "cause")
    if line.informs and not level and not (retried or warns):
        return None
    if line.benign and not ansible:
        rank = "guess" if retried else "echo"
    if rank == "echo" and (ansible or (about and not line.benign and _goes_on(message, about))):
        rank, layer = "symptom", producer(line.printed) or layer
    doubts, agrees = WEAK, False
    if about and (not about.row.weak or about.length >= _SPECIFIC or _by(line) == about.row.layer):
        other = _by(line) not in (None, "NVFlare", layer)
        doubts, agrees = about.short + (layer in _VARIED) + other, about.agrees and not about.vague
    elif _by(line) in _OWN or (_by(line) == "NVFlare" and (about is None or _RAISED.search(message))):
        doubts = 1
    return Candidate(
        number=line.number,
        message=message,
        rank=rank,
        layer=layer,
        remedy=about.row.remedy if about else "Read this line and those around it.",
        focus=about.start if about else 0,
        stream=line.rank,
        lasts=bool(ansible),
        meaning=about.row.meaning if about else "",
        weak=about is None or about.row.weak,
        vague=about is not None and about.vague,
        benign=line.benign,
        doubts=doubts,
        agrees=agrees,
        warns=warns,
    )


def _by(line: Line) -> Layer | None:
    """Return the layer of who printed a line, if known."""
    return producer(line.printed) or ("NVFlare" if "[identity=" in line.printed else None)


def _goes_on(message: str, about: Subject) -> bool:
    """Whether a message of words that only report a failure goes on with what failed."""
    _, colon, reason = message[about.start + about.length :].partition(": ")
    return bool(colon and len(reason.split()) >= _WORDS and _FAILS.search(reason))


def _kind(line: Line, about: Subject | None) -> tuple[Layer, Rank]:
    """Return layer and rank of a message by its subject, else by who printed it."""
    raised = _RAISED.search(line.text)
    programs = raised and exceptions.OF_PYTHON.fullmatch(raised[1])
    by, rank = _by(line), about.row.rank if about else "symptom"
    if about and not about.row.weak and not (programs and about.row.layer == "job"):
        return by if by in _OWN and about.row.layer == "environment" else about.row.layer, rank
    if programs:
        return "job", rank
    return by or (about.row.layer if about else "job"), rank
