# SPDX-License-Identifier: Apache-2.0
"""The seal of a results folder, which covers its records, reports and the seals of its runs.

results/<run>/results.seal.json
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from rekindle.host import files, folders, own
from rekindle.records import RecordError, timestamp
from rekindle.records.folders import play_in

from . import seal, state

_RUN_SEAL = ".seal.json"
_PARTIAL = re.compile(r"\..+\.[a-z0-9_]{8}")


def found(folder: Path, sealed: Iterable[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of the files in a results folder, by name.

    Left out are the files of runs with a seal, here or among the ``sealed`` names, other results folders in
    this one, and incomplete files.
    """
    seals = {*folder.glob(f"*/*{_RUN_SEAL}"), *folder.glob(f"*/{folders.EARLIER}/*{_RUN_SEAL}")}
    seals |= {folder / name for name in sealed if name.endswith(_RUN_SEAL)}
    runs = {path.with_name(path.name.removesuffix(_RUN_SEAL)) for path in seals}
    others = {path.parent for path in folder.glob(f"*/{folders.PLAY_RECORD}")}
    here = seal.files(folder, {folder / folders.RESULTS_SEAL} | runs | others)
    return {
        name: digest for name, digest in here.items() if not any(map(_PARTIAL.fullmatch, name.split("/")))
    }


def before(folder: Path) -> dict[str, str] | None:
    """Return the files of a results folder before something is written to it, for `put`.

    None if no valid seal covers them: there is none, or a playbook that wrote to it did not end.
    """
    path = folder / folders.RESULTS_SEAL
    if not path.exists():
        return None
    statement = _own(path)
    return None if statement and unfinished(folder, statement) else found(folder)


def unfinished(folder: Path, statement: seal.ResultsStatement) -> str | None:
    """Return the start of a playbook that has not sealed the folder since; None if there is none."""
    with suppress(RecordError):
        began = max(play_in(folder).began.values(), default="")
        return began if began > statement.predicate.sealed else None
    return None


def put(folder: Path, before: dict[str, str] | None) -> None:
    """Seal a results folder with the controller's key.

    A file that did not change since ``before`` keeps its sealed digest, so that alterations stay visible.

    Raises:
        RecordError: the user's folder for the key cannot be made.
        OSError: something cannot be read or written.
    """
    path, now = folder / folders.RESULTS_SEAL, found(folder)
    if before is not None:
        last = _own(path)
        sealed = seal.sealed_files(last) if last else {}
        untouched = {name for name in {*before, *sealed} if before.get(name) == now.get(name)}
        now = {name: digest for name, digest in now.items() if name not in untouched}
        now |= {name: digest for name, digest in sealed.items() if name in untouched}
    about = seal.SealedResults(run=folder.name, sealed=timestamp())
    statement = seal.ResultsStatement(subject=seal.subjects(now), predicate=about)
    own.write(path, seal.signed(statement, state.key()))


def _own(path: Path) -> seal.ResultsStatement | None:
    """Return our own seal's statement; None if it is not ours or was altered."""
    key = state.own_key()
    with suppress(OSError, seal.SealError):
        return seal.opened(files.content(path), [seal.public_key(key)] if key else [], seal.ResultsStatement)
    return None
