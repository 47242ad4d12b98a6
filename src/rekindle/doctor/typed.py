# SPDX-License-Identifier: Apache-2.0
"""Root causes from the lines of any log that report an error, where the catalogue knows none of it."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from rekindle.records import Confidence, Finding, Layer

from .candidates import WEAK, Candidate, candidates_in
from .catalogue import Rank
from .lines import Line, lines, stream
from .scan import SHORT, Found, around, names_thing, one_line
from .texts import Text

_OTHERS, _QUOTED, _NEAR = 3, 240, 3
DOUBTS = 1
"""Of a cause that is named, the most: docs/doctor.md has what others would do."""
_UNSURE = "Read these lines and those before them: which of them is the cause is not certain."
_ASKED = re.compile(
    r"srun: forcing|\*\*\* (?:STEP|JOB) |Force Terminated|Sending SIGTERM|closing signal|Terminating Step"
)
_KILLED = "A process was killed"
_BELOW: tuple[Layer, ...] = ("host", "driver", "environment", "network")
"""Layers of what a job may miss."""
_LASTS = re.compile(r"NVRM|oom-kill|Out of memory: Kill|EDAC|Node failure|NODE FAIL|JobState=")


def typed(text: Text, failed: bool | None, explained: frozenset[int] = frozenset()) -> list[Found]:
    """Return what the lines of ``text`` report: the root cause, then at most three others.

    Of a root that is in doubt the layer is unknown, and so of the lines that come next after it.

    Args:
        text: of one file.
        failed: whether its run is known to have failed (True), or to have ended well (False); None: unknown.
        explained: numbers of the lines that entries of the catalogue are about.
    """
    found = lines(text)
    with_warnings = [one for one in candidates_in(text, found) if one.number not in explained]
    candidates = [one for one in with_warnings if not one.warns]
    went_on = [line for line in found if line.went_on]
    if failed is False:
        return [_found(text, one) for one in _unfollowed(text, candidates)][:1]
    candidates = _ended_by_others(candidates, found)
    if not failed:
        candidates = _unsettled(candidates, went_on)
    if all(one.rank == "echo" for one in candidates):
        return [_found(text, one) for one in candidates if not (one.benign or one.weak)][-1:]
    ranked = sorted(_promoted(candidates), key=_order)
    if explained_by := _explaining(ranked[0], with_warnings):
        ranked.insert(0, explained_by)
    doubts = _doubts(ranked[0], ranked)
    ranked[:1] = [_naming(ranked[0], ranked)]
    if doubts > DOUBTS:
        likely = [one for one in ranked if one.rank != "echo"][: 1 + _OTHERS]
        return [_in_doubt(_found(text, one), place) for place, one in enumerate(likely)]
    by_layer: dict[Layer, Candidate] = {}
    for one in ranked:
        by_layer.setdefault(one.layer, one)
    first = [_found(text, one) for one in list(by_layer.values())[: 1 + _OTHERS]]
    return [found._replace(later=place > 0) for place, found in enumerate(first)]


def reported(finding: Finding) -> bool:
    """Whether ``finding`` only quotes a line that reports an error, and nobody interpreted it."""
    return finding.name == _name(finding.layer)


def _name(layer: Layer | None) -> str:
    return f"{(layer or 'unknown').lower()}_error"


def standing(text: Text, found: list[Found]) -> list[Found]:
    """Return what was ``found`` and not overcome: then ``text`` goes on, and reports no error any more."""
    if not found:
        return []
    seen = lines(text)
    candidates = candidates_in(text, seen)
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
    return last > found.last and all(one.benign for one in candidates if one.number > last)


def _doubts(root: Candidate, ranked: list[Candidate]) -> int:
    """Return how many doubts there are of the root; one is that something was reported before it.

    Other words for the same layer, in its line or another, take all of them away.
    """
    late = any(one.number < root.number and one.rank in ("cause", "symptom") for one in ranked)
    alike = (one for one in ranked if (one.layer, one.rank) == (root.layer, root.rank))
    agree = root.doubts < WEAK and any(one.agrees and one.doubts < WEAK for one in alike)
    return 0 if agree else root.doubts + late


def _explaining(root: Candidate, candidates: list[Candidate]) -> Candidate | None:
    """Return what explains a root that says little of a cause: the first before it, were it but a warning."""
    unsaid = root.doubts > DOUBTS
    if root.rank == "cause" and not unsaid and not root.asserts:
        return None
    before = (one for one in candidates if one.number < root.number and (unsaid or one.layer in _BELOW))
    return next((one for one in before if one.warns or (one.rank == "cause" and not one.weak)), None)


def _in_doubt(found: Found, place: int) -> Found:
    doubtful = replace(found.finding, name=_name(None), layer=None, remedy=_UNSURE, confidence="possible")
    return found._replace(finding=doubtful, rank="symptom", later=place)


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
    """Return the candidates; what was tried again in vain is a cause if there is none or one of its layer."""
    layers = {one.layer for one in candidates if one.rank == "cause"}
    vain = [one for one in candidates if one.rank == "guess" and (not layers or one.layer in layers)]
    return [one._replace(rank="cause") if one in vain else one for one in candidates]


def _order(one: Candidate) -> tuple[int, int, int]:
    ranks: tuple[Rank, ...] = ("cause", "symptom", "guess", "echo")
    vagueness = 2 * one.weak + one.vague if one.rank == "cause" else one.weak
    return ranks.index(one.rank), vagueness, one.number


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
