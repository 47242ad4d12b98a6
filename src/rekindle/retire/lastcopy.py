# SPDX-License-Identifier: Apache-2.0
"""The last copy of a host, on the controller: what the host packed, checked, and as a capsule.

results/<run>/<host>/retired.json
results/<run>/<host>/retired/env.json  locks/  logs/  runs/<run>/
"""

from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from rekindle import capsule, records
from rekindle.host import folders
from rekindle.host.files import digest_file
from rekindle.records import (
    Environment,
    EnvRecord,
    Record,
    RecordError,
    RetiredRecord,
    allow_decoding,
    write_record,
)
from rekindle.records.base import Few, Integer, Table, Text
from rekindle.records.layout import retired_in
from rekindle.results import state
from rekindle.results.collection import judge_received

_KEPT = (folders.LOGS, folders.RUNS)
"""Below retired/, as below the host's root."""


class Part(Record, frozen=True):
    """One archive, as the host describes it."""

    name: Annotated[str, msgspec.Meta(pattern=r"^(logs|runs/\w[\w.-]*)\Z", max_length=1_000)]
    archive: Annotated[str, msgspec.Meta(pattern=r"^\d+\.tar\.gz\Z", max_length=100)]
    files: Table[Text]
    """SHA-256 of each."""
    left: Table[Integer]


class BuiltEnvironment(Record, frozen=True):
    """One environment on the host."""

    environment: Environment
    lock_text: Annotated[str, msgspec.Meta(max_length=1 << 20)]


@allow_decoding
class LastCopy(Record, frozen=True):
    """What a host packed before its removal, by remove.py."""

    place: Annotated[str, msgspec.Meta(pattern=r"^/[\w./@+=~-]*/rekindle-[0-9a-f]{16}\Z", max_length=4_000)]
    """sftp gets it, and would run any further line of it as a command."""
    parts: Few[Part]
    environments: Few[BuiltEnvironment]


def check_answer(answer: dict[str, Any]) -> LastCopy:
    """Return the host's answer, checked.

    Raises:
        RecordError: it does not fit the schema.
    """
    try:
        return records.convert_builtins(
            {name: answer.get(name) for name in LastCopy.__struct_fields__}, LastCopy
        )
    except RecordError as error:
        raise RecordError(
            f"The host packed something else than it was asked for: {error.message}.",
            "look at its runs/ folder.",
        ) from None


def check_copy(part: Part, folder: Path) -> None:
    """Compare the files in ``folder`` with those of the host.

    Raises:
        RecordError: they are not the same.
    """
    here = {
        path.relative_to(folder).as_posix(): digest_file(path) for path in folder.rglob("*") if path.is_file()
    }
    if wrong := sorted(
        name for name in here.keys() | part.files.keys() if here.get(name) != part.files.get(name)
    ):
        raise RecordError(
            f"{part.name}/{wrong[0]} on the controller is not the host's, and nothing was removed there.",
            "run retire.yml again.",
        )


def keep_copy(copy: LastCopy, host: str, home: Path) -> None:
    """Write the capsule, with the newest environment of each framework, and retired.json.

    The host names its locks and their text is ours; its runs are judged here. What an interrupted removal
    collected before is part of the copy.

    Raises:
        RecordError: a lock was never sent from here.
    """
    folder = home / "retired"
    built = sorted((entry.environment for entry in copy.environments), key=attrgetter("built"))
    latest = {environment.framework: environment for environment in built}
    if latest:
        capsule.save_environments(EnvRecord(host=host, environments=tuple(latest.values())), folder)
    left = {f"{part.name}/{name}": size for part in copy.parts for name, size in part.left.items()}
    verdicts = {}
    for run in sorted((folder / folders.RUNS).glob("*")):
        sent = state.read_sent(host, run.name)
        alone = sent is not None and sent.member is None  # a federation's part has no verdict of its own
        verdicts[run.name] = judge_received(run, sent).verdict if sent and alone else ""
    before = _before(host, home)
    write_record(
        home / folders.RETIRED_RECORD,
        replace(
            before,
            environments=tuple(environment.lock for environment in latest.values()) or before.environments,
            runs=verdicts,
            files=sum(path.is_file() for name in _KEPT for path in (folder / name).rglob("*")),
            left={**before.left, **left},
            retired=None,
        ),
    )


def note_removed(host: str, home: Path) -> None:
    """Record in retired.json, once, that nothing of Rekindle is left on the host."""
    before = _before(host, home)
    if before.retired is None:
        write_record(home / folders.RETIRED_RECORD, replace(before, retired=records.format_time()))


def _before(host: str, home: Path) -> RetiredRecord:
    return retired_in(home) if (home / folders.RETIRED_RECORD).exists() else RetiredRecord(host=host)
