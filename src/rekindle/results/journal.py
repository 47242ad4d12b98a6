"""``run.json`` and ``outcome.json``: what a playbook notes in the results folder while it runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from rekindle.host import folders, own
from rekindle.records import Complaint, Outcome, PlaybookRecord, Timestamp, write
from rekindle.records.base import shortened
from rekindle.records.complaint import FIX
from rekindle.records.folders import outcome_in, play_in
from rekindle.records.text import one_line

_STAGES = ("preflight", "plan", "environments", "containers", "validate", "collect")
"""Names of the roles that are stages, in their order."""
_LONGEST = 1200
"""Characters of a sentence; what is longer is a log and loses its middle."""


def begin_play(  # noqa: PLR0913 - each is a part of what is noted
    folder: Path,
    stage: str,
    hosts: Iterable[str],
    *,
    left: Collection[str],
    now: Timestamp,
    checks: bool = False,
) -> None:
    """Add the hosts of a play, whose last stage this is, to run.json; drop outcomes that it makes stale.

    Those are of ``stage`` and earlier ones, but for hosts that ``left`` in this very run, which ``checks`` if
    it is one of ``--check``.

    Raises:
        RecordError: a record that is there already cannot be read.
        OSError: the folder cannot be written.
    """
    path, names = folder / folders.PLAY_RECORD, tuple(hosts)
    own.make_folder(folder)
    with own.alone(folder):  # other playbooks may begin in it at the same time
        known = PlaybookRecord(run=folder.name, started=now, hosts=())
        known = play_in(folder) if path.exists() else known
        both = tuple(dict.fromkeys([*known.hosts, *names]))
        began = {**known.began, **dict.fromkeys(names, now)}
        last = "plan" if checks and stage in _STAGES[2:] else stage  # nothing later is done
        asked = {**known.asked, **dict.fromkeys(names, last)}
        write(path, replace(known, hosts=both, began=began, asked=asked))
    reached = {stage, *_STAGES[: _STAGES.index(stage)]} if stage in _STAGES else {stage}
    for host in set(names).difference(left):
        outcome = folder / host / folders.OUTCOME_RECORD
        if outcome.exists() and outcome_in(folder / host).stage in reached:
            outcome.unlink()


def note_left(
    folder: Path, host: str, stage: str, state: Literal["failed", "unreachable"], said: str
) -> None:
    """Write why ``host`` left at ``stage``.

    ``said`` is what its task's result has: words of Ansible, of a host, or complaints of ours with their fix.

    Raises:
        OSError: the folder cannot be written.
    """
    says = shortened(one_line(said) or "The task gave no reason.", _LONGEST)
    if FIX not in says:
        fixes = {
            "failed": f"see the failed task of {stage} in the output.",
            "unreachable": "check its address, port, user and key, and that it is still yours.",
        }
        says = str(Complaint(f"{says.rstrip('.')}.", fixes[state]))
    write(folder / host / folders.OUTCOME_RECORD, Outcome(host=host, stage=stage, state=state, says=says))


def forget_left(folder: Path, host: str) -> None:
    """Remove what `note_left` wrote, as the host went on after all.

    Raises:
        OSError: the folder cannot be written.
    """
    (folder / host / folders.OUTCOME_RECORD).unlink(missing_ok=True)
