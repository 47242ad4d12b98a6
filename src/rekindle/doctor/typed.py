"""Root causes from the lines of any log that report an error, where the catalogue knows none of it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rekindle.records import Confidence, Finding, Layer

from . import exceptions
from .ansible_results import failed_task, plain, settled_hosts
from .catalogue import Rank
from .lines import Line, lines, stream
from .producers import producer
from .scan import SHORT, Found, around, known, names_thing, one_line
from .shapes import shape
from .subjects import Subject, subject
from .texts import Text

_OTHERS, _QUOTED, _NEAR, _WORDS = 3, 240, 3, 4
_LEAD = re.compile(
    r"^(?:\[\s?\d?[\d.:,T/+ Z-]{4,40}\]\s?|\d[\d:.,T/+ Z-]{7,40}(?: - |: | )|"
    r"[EWF]\d{4} [\d:.]{6,20} +\d+ |E: |ERROR\s?!?:? |error: |Error: )?"
)
_CONTEXT = shape("context")
_ASKED = re.compile(
    r"srun: forcing|\*\*\* (?:STEP|JOB) |Force Terminated|Sending SIGTERM|closing signal|Terminating Step"
)
_KILLED = "A process was killed"
_LASTS = re.compile(r"NVRM|oom-kill|Out of memory: Kill|EDAC|Node failure|NODE FAIL|JobState=")
_RETRIED = re.compile(r"(?i)\bre-?try")
_AGAIN = re.compile(r"(?i)\W{0,4}(?:re-?try|trying (?:again|to resume))")
_RAISED = re.compile(r"\b([A-Z]\w{2,40}Error): ")
_SLURM_DAEMON = re.compile(r"\[\d{4}-\d\d-\d\dT[\d:.]{8,16}\] (?:\[\S{1,40}\] )?(?:error|fatal): ")
_FAILS = shape("fails")


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


def typed(text: Text, failed: bool | None, explained: frozenset[int] = frozenset()) -> list[Found]:
    """Return what the lines of ``text`` report: the root cause, then at most three others.

    Args:
        text: of one file.
        failed: whether its run is known to have failed (True), or to have ended well (False); None: unknown.
        explained: numbers of the lines that entries of the catalogue are about.
    """
    found = lines(text)
    candidates = [one for one in _candidates(text, found) if one.number not in explained]
    went_on = [line for line in found if line.went_on]
    if failed is False:
        return [_found(text, one) for one in _unfollowed(text, candidates)][:1]
    candidates = _ended_by_others(candidates, found)
    if not failed:
        candidates = _unsettled(candidates, went_on)
    if all(one.rank == "echo" for one in candidates):
        return [_found(text, one) for one in candidates if not (one.benign or one.weak)][-1:]
    ranked = sorted(_promoted(candidates), key=_order)
    ranked[:1] = [_naming(ranked[0], ranked)]
    by_layer: dict[Layer, Candidate] = {}
    for one in ranked:
        by_layer.setdefault(one.layer, one)
    first = [_found(text, one) for one in list(by_layer.values())[: 1 + _OTHERS]]
    return [found._replace(later=place > 0) for place, found in enumerate(first)]


def reported(finding: Finding) -> bool:
    """Whether ``finding`` only quotes a line that reports an error, and nobody interpreted it."""
    return finding.name == _name(finding.layer)


def _name(layer: Layer) -> str:
    return f"{layer.lower()}_error"


def standing(text: Text, found: list[Found]) -> list[Found]:
    """Return what was ``found`` and not overcome: then ``text`` goes on, and reports no error any more."""
    if not found:
        return []
    seen = lines(text)
    candidates = _candidates(text, seen)
    informing = {line.number for line in seen if line.informs and not line.level}
    stand = [one for one in found if not _overcome(text, one, seen, candidates)]
    tells = any(one.rank != "echo" or one.finding.line not in informing for one in stand)
    return stand if tells else []


def _overcome(text: Text, found: Found, seen: list[Line], candidates: list[Candidate]) -> bool:
    printed = text.raw_line(found.finding.line or 0)
    if _LASTS.search(printed):
        return False
    by = stream(printed)
    last = max((one.number for one in seen if one.went_on and (one.rank == by or not by)), default=0)
    return last > found.through and all(one.benign for one in candidates if one.number > last)


def _unfollowed(text: Text, candidates: list[Candidate]) -> Iterator[Candidate]:
    """Yield the exceptions with which a text ends: what more text follows was handled."""
    rest = text.body.rstrip()
    for one in candidates:
        if one.name and one.through >= text.line(len(rest)):
            yield one


def _ended_by_others(candidates: list[Candidate], found: list[Line]) -> list[Candidate]:
    """Return the candidates; what was killed after all were asked to end is an echo."""
    asked = min((line.number for line in found if _ASKED.search(line.text)), default=None)
    echoes = [one for one in candidates if asked and one.number > asked and one.meaning == _KILLED]
    return [one._replace(rank="echo") if one in echoes else one for one in candidates]


def _promoted(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates; without any cause, what was tried again in vain is one."""
    if any(one.rank == "cause" for one in candidates):
        return candidates
    return [one._replace(rank="cause") if one.rank == "guess" else one for one in candidates]


def _order(one: Candidate) -> tuple[int, bool, int, int]:
    ranks: tuple[Rank, ...] = ("cause", "symptom", "guess", "echo")
    says_less = 2 * one.weak + one.vague if one.rank == "cause" else 0
    return ranks.index(one.rank), not one.lasts, says_less, one.number


def _naming(root: Candidate, ranked: list[Candidate]) -> Candidate:
    """Return the root, or if it names no thing the line near to it that says the same of one."""
    if root.name or names_thing(root.message):
        return root
    alike = (
        one
        for one in ranked
        if (one.layer, one.rank, one.meaning) == (root.layer, root.rank, root.meaning)
        and abs(one.number - root.number) <= _NEAR
        and names_thing(one.message)
    )
    return next(alike, root)


def _unsettled(candidates: list[Candidate], went_on: list[Line]) -> list[Candidate]:
    """Return the candidates that were not overcome, of a text that may be of a good run."""
    last: dict[str, int] = {line.rank: line.number for line in went_on}
    whole = max(last.values(), default=0)
    after = [
        one
        for one in candidates
        if one.lasts or one.number > last.get(one.stream, 0 if one.stream else whole)
    ]
    if not any(one.rank in ("cause", "symptom") or one.lasts for one in after):
        return candidates if after and any(one.rank == "echo" for one in after) else after
    return after


def _candidates(text: Text, found: list[Line]) -> list[Candidate]:
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
        if line.number not in inside and (one := _single(line, settled, found[index + 1 : index + 3])):
            single.append(one)
    return [*chained, *single]


def _exception(text: Text, chain: tuple[exceptions.Raised, ...]) -> list[Candidate]:
    causes = [one for one in chain if not one.reports]
    root = next(filter(_names_cause, causes), next(iter(causes), None))
    if root is None or _is_known(root.text):
        return []
    about = subject(root.text)
    layer = exceptions.layer(root.kind, root.message, root.packages)
    ours = about and about.row.layer == layer and not about.row.weak
    last = chain[-1]
    more = f", then {last.text}" if last is not root and not last.reports else ""
    raised = f"{one_line(root.text, 90 if more else 300)} at {root.place}{more}"
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
        )
    ]


def _names_cause(raised: exceptions.Raised) -> bool:
    """Whether the words of an exception say what goes wrong."""
    about = subject(raised.text)
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
        if host in settled or any("...ignoring" in after.text for after in following[:1]):
            return None
        message = f"Ansible on {host}: {result}"
    about = subject(message)
    level = line.level or bool(ansible)
    layer, rank = _kind(line, about)
    again = any(after.number == line.number + 1 and _AGAIN.match(after.text) for after in following[:1])
    retried = (
        rank == "cause" and layer == "network" and (again or (line.benign and _RETRIED.search(line.text)))
    )
    if not level and not (about and not about.row.weak and _FAILS.search(message)):
        return None
    if line.informs and not level and not retried:
        return None
    if (line.benign or again) and not ansible:
        rank = "guess" if retried else "echo"
    if rank == "echo" and (ansible or (about and not line.benign and _goes_on(message, about))):
        rank, layer = "symptom", producer(line.printed) or layer
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
        benign=line.benign or again,
    )


def _goes_on(message: str, about: Subject) -> bool:
    """Whether a message of words that only report a failure goes on with what failed."""
    _, colon, reason = message[about.start + about.length :].partition(": ")
    return bool(colon and len(reason.split()) >= _WORDS and _FAILS.search(reason))


def _kind(line: Line, about: Subject | None) -> tuple[Layer, Rank]:
    """Return layer and rank of a message by its subject, or if that is vague by who printed it."""
    if about and not about.row.weak:
        return about.row.layer, about.row.rank
    raised = _RAISED.search(line.text)
    if raised and exceptions.OF_PYTHON.fullmatch(raised[1]):
        return "job", about.row.rank if about else "symptom"
    by = producer(line.printed) or ("NVFlare" if "[identity=" in line.printed else None)
    if (about is None and failed_task(line.text)) or (by is None and _SLURM_DAEMON.search(line.printed)):
        by = "host"
    return by or (about.row.layer if about else "job"), (about.row.rank if about else "symptom")


def _found(text: Text, one: Candidate) -> Found:
    confidence: Confidence = "likely" if one.rank == "cause" and not one.weak else "possible"
    finding = Finding(
        name=one.name or _name(one.layer),
        cause=one_line(one.message, _QUOTED) if one.name else _quoting(one),
        layer=one.layer,
        remedy=one.remedy,
        confidence=confidence,
        file=text.file,
        line=one.number,
    )
    return Found(finding, one.rank, text.time(one.number), text.nearness)


def _quoting(one: Candidate) -> str:
    """Return what goes wrong, and as much of the message around its subject as a cause may have."""
    meaning = f"{one.meaning}: " if one.meaning else ""
    return meaning + around(one.message, one.focus, SHORT - len(meaning))
