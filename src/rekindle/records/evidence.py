# SPDX-License-Identifier: Apache-2.0
"""Reads a run's evidence: events, each with its place in the run's folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from rekindle.host import files, folders

from . import RecordError
from .events import AnyEvent, decode_event

_LIMIT = 4 * files.LIMIT
EventT_co = TypeVar("EventT_co", covariant=True)


@dataclass(frozen=True)
class EvidenceLine(Generic[EventT_co]):
    """One event, its file (relative to the run's folder) and line."""

    event: EventT_co
    file: str
    line: int


class EvidenceRead(NamedTuple):
    """What evidence there is."""

    lines: list[EvidenceLine[AnyEvent]]
    unread: list[str]
    """A sentence for each file that was not read."""
    broken: list[tuple[str, int]]
    """File and number of each line that is not an event, except a last sample that was cut off."""


def read_lines(run_dir: Path) -> list[EvidenceLine[AnyEvent]]:
    """Return all lines that are events; one that is not (cut off as its process died) is left out."""
    return read_evidence(run_dir).lines


def read_evidence(run_dir: Path) -> EvidenceRead:
    """Return what trainers, job.py, the server and the driver wrote, in file and line order."""
    evidence, room = EvidenceRead([], [], []), _LIMIT
    paths = files.find_files(run_dir, folders.EVENTS)
    try:
        next((run_dir / folders.EVIDENCE).iterdir(), None)
    except FileNotFoundError:
        pass
    except OSError as error:
        evidence.unread.append(describe_unread(folders.EVIDENCE, error))
    if len(paths) == files.MOST:
        evidence.unread.append(f"Of evidence/ no more than {files.MOST} files were read.")
    samples = files.find_files(run_dir, folders.ALL_SAMPLES)
    for path in [*paths, *samples]:
        name = path.relative_to(run_dir).as_posix()
        try:
            content = files.read_content(path, min(room, files.LIMIT))
        except FileNotFoundError:
            continue
        except OSError as error:
            evidence.unread.append(describe_unread(name, error))
            continue
        room -= len(content)
        texts = content.splitlines()
        for number, text in enumerate(texts, 1):
            if not text.strip():
                continue
            try:
                evidence.lines.append(EvidenceLine(decode_event(text), name, number))
            except RecordError:
                if path not in samples or number < len(texts) or content.endswith(b"\n"):
                    evidence.broken.append((name, number))
    return evidence


def describe_unread(name: str, error: OSError) -> str:
    """Return the sentence that a file of a run was not read."""
    shown = name if name.isprintable() else ascii(name)
    return f"{shown[:200]} was not read: {error.strerror}."
