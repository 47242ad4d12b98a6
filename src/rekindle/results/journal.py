# SPDX-License-Identifier: Apache-2.0
"""``run.json`` and ``outcome.json``: a playbook's notes in the results folder while it runs."""

import fcntl
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal

import yaml
from msgspec.structs import replace

from rekindle.host import files, folders, paths, storage
from rekindle.host.look import take_lock
from rekindle.records import Command, Complaint, Outcome, PlaybookRecord, Timestamp, write_record
from rekindle.records.complaint import quote_host
from rekindle.records.layout import outcome_in, play_in
from rekindle.records.text import fold_line, shorten_text

from .joints import is_joint_stage

_SITE = yaml.safe_load((paths.find_collection() / "playbooks/site.yml").read_text(encoding="utf-8"))
_ROLES = [task["ansible.builtin.import_role"]["name"] for task in _SITE[0]["tasks"]]
STAGES = (*(name.rpartition(".")[2] for name in _ROLES), "fabric", "collect")
"""Names of the stages in order, with the last one, which collects what site.yml does not."""
BEFORE_JOBS = frozenset(STAGES).difference(["accept", "validate", "fabric", "collect"])
"""Stages after which no job has run."""
_PLAYING = ".playing"
"""Locked by each playbook in the folder while it goes on; removed by the last one."""
_LONGEST = 1200


def begin_play(  # noqa: PLR0913 - each is a part of what is noted
    folder: Path,
    stage: str,
    hosts: Iterable[str],
    *,
    left: Collection[str],
    now: Timestamp,
    typed: Command | None = None,
    checks: bool = False,
) -> None:
    """Add the hosts of a play, whose last stage this is, to run.json; drop outcomes that it makes stale.

    Outcomes of later stages stay, and those of hosts that ``left`` in this run. A play that ``checks`` makes
    none stale.

    Raises:
        RecordError: a record that is there already cannot be read.
        OSError: the folder cannot be written.
    """
    path, names = folder / folders.PLAY_RECORD, tuple(hosts)
    storage.make_folder(folder)
    with storage.lock_folder(folder):  # other playbooks may begin in it at the same time
        known = PlaybookRecord(run=folder.name, started=now, hosts=())
        known = play_in(folder) if path.exists() else known
        both = tuple(dict.fromkeys([*known.hosts, *names]))
        last = "plan" if checks and stage in STAGES[2:] else stage  # nothing later is done
        asked = {**known.asked, **dict.fromkeys(names, last)}
        began, checked = known.began, {name: at for name, at in known.checked.items() if name not in names}
        now_at = dict.fromkeys(names, now)
        began, checked = (began, checked | now_at) if checks else (began | now_at, checked)
        commands = {**known.typed, **(dict.fromkeys(names, typed) if typed and not checks else {})}
        known = replace(known, hosts=both, began=began, checked=checked, asked=asked, typed=commands)
        write_record(path, known)
    for host in set(names).difference(left):
        (folder / host / folders.REFUSAL_RECORD).unlink(missing_ok=True)
        outcome = folder / host / folders.OUTCOME_RECORD
        if not checks and outcome.exists():
            left_at = outcome_in(folder / host).stage
            later = STAGES[STAGES.index(stage) :] if stage in STAGES else ()
            if stage == left_at or is_joint_stage(stage) or (stage in STAGES and left_at not in later):
                outcome.unlink()


def link_latest(runs: Path, folder: Path) -> None:
    """Have ``latest`` among ``runs`` lead to a run's folder, wherever that lies, if it can be written."""
    with suppress(OSError):
        if folder != runs:
            inside = folder.relative_to(runs) if folder.is_relative_to(runs) else folder
            storage.link_path(runs / folders.LATEST, inside)


def keep_playing(folder: Path) -> BinaryIO:
    """Have `is_playing` be true of ``folder`` until the returned file is closed, or this process ends.

    Raises:
        OSError: the folder cannot be written.
    """
    stream = files.open_file(folder / _PLAYING, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    fcntl.flock(stream, fcntl.LOCK_SH)
    return stream


def stop_playing(folder: Path, stream: BinaryIO) -> None:
    """End what `keep_playing` began, also where a child of this process has the file open."""
    with stream:
        if take_lock(stream, fcntl.LOCK_EX):
            (folder / _PLAYING).unlink(missing_ok=True)
        fcntl.flock(stream, fcntl.LOCK_UN)


def is_playing(folder: Path) -> bool:
    """Whether a playbook goes on in a folder of results, on this machine."""
    with suppress(OSError), files.open_file(folder / _PLAYING) as stream:
        return not take_lock(stream, fcntl.LOCK_EX)
    return False


def note_left(  # noqa: PLR0913 - each is a part of what is noted
    folder: Path,
    host: str,
    stage: str,
    state: Literal["failed", "unreachable"],
    why: Complaint,
    *,
    checks: bool = False,
) -> None:
    """Write why ``host`` left at ``stage``, or would leave if this ``checks``.

    ``why`` is of the task's result: what Ansible or a host says, without a fix, or a complaint of ours.

    Raises:
        OSError: the folder cannot be written.
    """
    message = shorten_text(quote_host(fold_line(why.message)), _LONGEST) or "The task gave no reason."
    if not why.fix:
        message = f"{message.rstrip('.')}."
    fixes = {
        "failed": f"see the failed task of {stage} in the output.",
        "unreachable": "check its address, port, user and key, and that it is still yours.",
    }
    fix = shorten_text(fold_line(why.fix), _LONGEST) or fixes[state]
    left = Outcome(host=host, stage=stage, state=state, message=message, fix=fix, action=why.action)
    write_record(_outcome(folder, host, checks), left)


def forget_left(folder: Path, host: str, *, checks: bool = False) -> None:
    """Remove what `note_left` wrote, as the host went on after all.

    Raises:
        OSError: the folder cannot be written.
    """
    _outcome(folder, host, checks).unlink(missing_ok=True)


def _outcome(folder: Path, host: str, checks: bool) -> Path:
    return folder / host / (folders.REFUSAL_RECORD if checks else folders.OUTCOME_RECORD)
