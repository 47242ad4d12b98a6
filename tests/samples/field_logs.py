# SPDX-License-Identifier: Apache-2.0
"""Logs of failures in the words of many tools, labelled before the doctor read them; and healthy ones.

A failure's heading is its name, the layers that are right, the words that its cause must have (``&``: all of
these, ``|``: one of these), and since the twenty-second set those of its remedy. Of the sets in `HALVED`
every other one is held back from whoever mends the doctor; of the twenty-ninth it was, until it was measured
once. A log of several files is a workspace: a line ``--- FOLDER/FILE`` is before each.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rekindle.doctor import diagnose_texts, texts
from rekindle.records.finding import Diagnosis, Finding

FIELD = Path(__file__).parents[1] / "unit" / "doctor" / "field"
HALVED = (
    "failures.txt",
    "fourth_failures.txt",
    "fifth_failures.txt",
    "sixth_failures.txt",
    "ninth_failures.txt",
    "sixteenth_failures.txt",
    "seventeenth_failures.txt",
    "eighteenth_failures.txt",
    "twentyfirst_failures.txt",
    "twentysecond_failures.txt",
    "twentyfourth_failures.txt",
    "twentyfifth_failures.txt",
    "twentysixth_failures.txt",
    "twentyseventh_failures.txt",
    "twentyeighth_failures.txt",
    "thirtyfourth_failures.txt",
    "thirtyfifth_failures.txt",
    "thirtysixth_failures.txt",
    "thirtyseventh_failures.txt",
    "thirtyeighth_failures.txt",
    "thirtyninth_failures.txt",
)


class Failure(NamedTuple):
    """One failure, and what is right about it."""

    name: str
    layers: tuple[str, ...]
    words: str
    log: str
    file: str
    held: bool
    remedy: str = ""
    """Words that the remedy must have, as ``words``; labelled since the twenty-second set."""

    def told(self, text: str) -> bool:
        """Whether ``text`` has the words of the cause."""
        return _has(self.words, text)

    def helped(self, finding: Finding) -> bool:
        """Whether ``finding`` names the layer and the kind of remedy, which is what its reader does next."""
        return finding.layer in self.layers and (not self.remedy or _has(self.remedy, finding.remedy))

    def right(self, finding: Finding) -> bool:
        """Whether ``finding`` names the layer and the cause."""
        return self.told(finding.cause) and finding.layer in self.layers


def _has(words: str, text: str) -> bool:
    """Whether ``text`` has one of the words (``|``) of each part (``&``)."""
    text = text.lower()
    return all(any(word.strip().lower() in text for word in one.split("|")) for one in words.split("&"))


def _blocks(name: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"^=== ", (FIELD / name).read_bytes().decode(), flags=re.MULTILINE)[1:]:
        head, _, log = block.partition("\n")
        yield head, log


def failures() -> list[Failure]:
    """Return all failures of all sets."""
    found = []
    for name in sorted(path.name for path in FIELD.glob("*failures.txt")):
        for number, (head, log) in enumerate(_blocks(name)):
            named, layers, words, *remedy = (part.strip() for part in head.split(";"))
            held = name in HALVED and bool(number % 2)
            found.append(Failure(named, tuple(layers.split()), words, log, name, held, *remedy))
    return found


def healthy() -> list[tuple[str, str]]:
    """Return names and logs of runs that went well, with lines that alarm."""
    return [block for path in sorted(FIELD.glob("*healthy.txt")) for block in _blocks(path.name)]


@cache
def found(log: str) -> Diagnosis:
    """Return what the doctor finds."""
    _, *files = re.split(r"^--- (\S+/\S+)\n", log, flags=re.MULTILINE)
    named = zip(files[::2], files[1::2], strict=True) if files else [("log.txt", log)]
    return diagnose_texts([texts.decode_text(name, content.encode()) for name, content in named])


def root(log: str) -> Finding | None:
    """Return the cause that the doctor names, if any."""
    return found(log).cause


def shown(failure: Failure) -> bool:
    """Whether the cause is among the lines of the timeline."""
    return any(failure.told(moment.message) for moment in found(failure.log).timeline)


def grade(failure: Failure) -> str:
    """Return ``right``, ``half``, ``wrong`` or ``silent``, by what the reader would do next."""
    finding = root(failure.log)
    if finding is None:
        return "half" if shown(failure) else "silent"
    if failure.helped(finding):
        return "right"
    return "half" if failure.told(finding.cause) and finding.layer in (None, *failure.layers) else "wrong"


def outcome(failure: Failure, log: str | None = None) -> str:
    """Return ``right``, ``wrong`` or ``silent``: a line of no layer that may be the cause is no answer."""
    finding = root(failure.log if log is None else log)
    if finding is None or (finding.layer is None and failure.told(finding.cause)):
        return "silent"
    return "right" if failure.right(finding) else "wrong"
