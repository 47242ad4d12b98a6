# SPDX-License-Identifier: Apache-2.0
"""Failures by their cause: hosts that failed alike, what a host amounts to, and the lines that show it."""

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from rekindle.host import files
from rekindle.records import Complaint, Layer
from rekindle.records.action import Action, pick_severest
from rekindle.records.complaint import ANOTHER
from rekindle.records.text import clean_text

from .row import Row, RowKind

_GRAVITY: tuple[RowKind, ...] = (
    *("FAIL", "HUNG", "LOST", "UNPROVEN", "UNSUPPORTED", "SKIPPED", "KNOWN_ISSUE"),
    *("RUNNING", "READY", "RETIRED", "PASS"),
)
"""Kinds from the worst on."""
NO_FAILURE = {"RUNNING", "READY", "RETIRED", "PASS"}
_OF_ONE = re.compile(r"GPU-[0-9A-Fa-f-]+|\b[0-9a-f]{12,}\b|\d+(?:\.\d+)?")
"""What differs between hosts that fail alike: UUIDs, digests, figures."""
_WORD = re.compile(r"[\w.-]+")
_WORDS, _NAME = 6, 60
"""Words of a message in a cause's name, and its letters."""
_AROUND, _FAR, _LONGEST = 5, 1_000_000, 400
"""Lines on each side, the last line that is looked for, and bytes of one."""


@dataclass(frozen=True)
class Cause:
    """Rows of one kind that failed alike, or that passed and ask for the same."""

    kind: RowKind
    message: str
    """Of the first row."""
    remedy: str | None
    layer: Layer | None
    rows: tuple[Row, ...]

    @property
    def shown(self) -> str:
        """The message, and whose it is if others have other figures."""
        same = all(_complaint(row)[0] == self.message for row in self.rows)
        return self.message if same else f"{self.message} (So on {self.rows[0].host}; figures differ.)"

    @property
    def hosts(self) -> list[str]:
        """Names, each once."""
        return list(dict.fromkeys(row.host for row in self.rows))

    @property
    def jobs(self) -> list[str]:
        """Names, each once."""
        return list(dict.fromkeys(row.job for row in self.rows if row.job))

    @property
    def name(self) -> str:
        """Of its file of hosts: ``lost-the-host-was-lost-during``."""
        words = re.findall(r"[a-z]+", generalise_text(self.message, self.hosts).lower())
        return "-".join([self.kind.lower().replace("_", "-"), *words[:_WORDS]])[:_NAME]

    @property
    def action(self) -> Action | None:
        """What its hosts' operator is asked for; None where nothing is."""
        action = pick_severest(row.action for row in self.rows if row.action)
        return None if action == "NONE" else action

    @property
    def curable(self) -> bool:
        """Whether its hosts can do better than they did: none of them has to be replaced."""
        return ANOTHER not in (self.remedy or "").lower()

    @property
    def required(self) -> bool:
        """Whether the playbook passes only without it."""
        return any(row.required for row in self.rows)


@dataclass(frozen=True)
class Citation:
    """A place in a run's file, and the lines around it; none if the file is not here."""

    file: str
    """Relative to the results folder."""
    line: int | None
    lines: tuple[tuple[int, str], ...]

    @property
    def where(self) -> str:
        """``gpu-1/pt_ddp/job.log:7``."""
        return f"{self.file}{f':{self.line}' if self.line is not None else ''}"

    @property
    def is_text(self) -> bool:
        """Whether a browser shows the file as text, whoever wrote it."""
        return self.file.endswith((".log", ".txt", ".json", ".jsonl"))

    @property
    def text(self) -> str | None:
        """The line itself."""
        return dict(self.lines).get(self.line or 0)


def rank_kind(kind: RowKind) -> int:
    """Return its place among all kinds, the worst first."""
    return _GRAVITY.index(kind)


def find_standing(rows: Sequence[Row]) -> RowKind:
    """Return the worst kind of a host's required rows, of which it has one or more, or else of all."""
    required = [row for row in rows if row.required] or rows
    return min((row.kind for row in required), key=rank_kind)


def group_causes(rows: Iterable[Row]) -> list[Cause]:
    """Group what is not PASS, and what passed and asks for something, the worst and most frequent first."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    rows = list(rows)
    hosts = {row.host for row in rows}
    for row in rows:
        if row.kind not in NO_FAILURE or row.notice:
            message, remedy = _complaint(row)
            key = (row.kind, generalise_text(message, hosts), generalise_text(remedy or "", hosts))
            groups.setdefault(key, []).append(row)
    found = []
    for group in groups.values():
        message, remedy = _complaint(group[0])
        layer = group[0].verdict.layer if group[0].verdict else None
        found.append(Cause(group[0].kind, message, remedy, layer, tuple(group)))
    return sorted(found, key=lambda cause: (not cause.required, rank_kind(cause.kind), -len(cause.hosts)))


def _complaint(row: Row) -> tuple[str, str | None]:
    """Return what is wrong, and the fix if one is known."""
    complaint = row.complaint or row.notice or Complaint("No cause was given.")
    remedy = row.verdict.remedy if row.verdict and row.kind != "PASS" else None
    return complaint.message, remedy or complaint.fix or None


def generalise_text(text: str, hosts: Collection[str]) -> str:
    """Return a text about one of ``hosts`` without what makes it one of that host: names, UUIDs and figures.

    Any of their names goes, so that a name that is a word parts no texts that have that word.
    """

    def unnamed(word: re.Match[str]) -> str:
        parts = word[0].split(".")
        names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        name = next((name for name in names if name in hosts), None)
        return "#" + word[0][len(name) :] if name else word[0]

    return _OF_ONE.sub("#", _WORD.sub(unnamed, text))


def quote_failure(row: Row) -> Citation | None:
    """Return what shows a failure: the line of its root cause, or else of the first check that fails."""
    verdict = row.verdict
    if verdict is None or row.kind == "PASS":
        return None
    shown = [(finding.file, finding.line) for finding in verdict.findings if not finding.echo]
    for states in ("fails", "unknown"):
        shown += [(result.file, result.line) for result in verdict.evidence if result.state == states]
    for file, line in shown:
        if file:
            return Citation(f"{row.host}/{row.job}/{file}", line, _around(row, file, line))
    return None


def _around(row: Row, file: str, line: int | None) -> tuple[tuple[int, str], ...]:
    if row.home is None or not line or line > _FAR:
        return ()
    first = max(line - _AROUND, 1)
    with suppress(OSError, ValueError):
        path = (row.home / file).resolve()
        path.relative_to(row.home.resolve())
        with files.open_file(path) as stream:
            read = iter(partial(stream.readline, files.LIMIT), b"")
            texts = enumerate(islice(read, first - 1, line + _AROUND), first)
            return tuple((number, _text(raw)) for number, raw in texts)
    return ()


def _text(raw: bytes) -> str:
    return clean_text(raw[:_LONGEST].decode(errors="replace")).rstrip()
