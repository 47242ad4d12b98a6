# SPDX-License-Identifier: Apache-2.0
"""``rekindle verify RESULTS``: whether a results folder and its runs are as they were sealed."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rekindle.host import files
from rekindle.host.folders import EARLIER, RESULTS_SEAL, SPEC, VERDICT
from rekindle.records import PlacedRecord, RecordError
from rekindle.records.base import read_valid
from rekindle.records.text import one_line
from rekindle.results import seal, sealing, state
from rekindle.results.gather import placed_in
from rekindle.results.received import seal_of, why_absent

from .folders import NEWEST, is_results
from .verb import FAILED, OK, Answer, Json, Verb, answer

_KEY_LIMIT = 1 << 16
_OF_RUNS = (".placed.json", ".seal.json", ".pem", ".zip")
"""Endings of the files of runs outside of the runs' folders."""


class Verified(msgspec.Struct):
    """One run, and a sentence for each difference from its seal."""

    host: str
    job: str
    differs: list[str] = []
    judged: str | None = None
    verdict: str | None = None
    """When it was sealed, and with which verdict; None if its seal is not valid."""
    absent: str | None = None
    sealed_with: bool = False
    """Whether the results folder has a seal of its own since this run was sealed."""


class Verification(msgspec.Struct):
    """A results folder and every run in it, and whose key was used."""

    runs: list[Verified]
    keys: str
    """``yours``, ``asked`` (with ``--key``) or ``beside``: only their user knows whose those are."""
    differs: list[str] = []
    """A sentence for each other difference from the folder's seal."""
    sealed: str | None = None
    unchecked: str | None = None
    """Why only the runs were checked, if so."""


def run(
    results: Annotated[
        Path, typer.Argument(metavar="[RESULTS]", help="A folder under results/; the newest by default.")
    ] = NEWEST,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PUBLIC.pem",
            help="The key that has to have sealed them; yours by default, or the one beside the seals.",
        ),
    ] = None,
    json: Json = False,
) -> Answer:
    """Name each file of the runs and of the folder that differs from its seal.

    Raises:
        RecordError: there is no run in the folder, or no public key in the file.
    """
    folders = sorted({*_folders(results)})
    if not folders and not (results / RESULTS_SEAL).exists():
        raise RecordError(f"{results} has no run.", "name a folder under results/.")
    own = state.own_key()
    asked = _read_key(key) if key else seal.public_key(own) if own else None
    runs = [_verified(folder, [asked] if asked else [*_beside(folder)]) for folder in folders]
    verification = Verification(runs, "asked" if key else "yours" if asked else "beside")
    keys = [asked] if asked else [pem for folder in folders for pem in _beside(folder)]
    _verify_folder(results, keys, verification)
    lines = [line for verified in runs for line in _lines(verified)]
    lines += verification.differs
    lines += [verification.unchecked] if verification.unchecked else []
    if verification.sealed and not verification.differs:
        lines.append(f"All other files are as they were sealed at {verification.sealed}.")
    if asked is None:
        lines.append(
            "The keys lie beside the seals: only the controller's user knows whether they are its own."
        )
    status = FAILED if verification.differs or any(verified.differs for verified in runs) else OK
    return answer(status, "\n".join(map(one_line, lines)), verification, json)


VERB = Verb(
    "verify",
    run,
    Verification,
    ("results/RUN", "results/RUN --key theirs.pem --json"),
    "everything is as it was sealed",
    "something was altered, removed or added, or something has no seal",
)


def _verified(folder: Path, keys: list[bytes]) -> Verified:
    host, job, earlier = folder.parent, folder.name, folder.parent.name == EARLIER
    if earlier:
        host, job = host.parent, job.rpartition("-")[0]
    verified = Verified(host.name, folder.relative_to(host).as_posix())
    name = f"{verified.host}/{verified.job}"
    try:
        statement = seal.opened(files.content(seal_of(folder)), keys)
        sealed = statement.predicate
        if (sealed.host, sealed.job) != (host.name, job):
            raise seal.SealError(f"is that of {sealed.host}/{sealed.job}")
        verified.judged, verified.verdict = sealed.judged, sealed.verdict
        verified.sealed_with = statement.predicateType != "urn:x-rekindle:run:1"
        changes = seal.differences(seal.sealed_files(statement), seal.files(folder))
        verified.differs = [f"{name}/{difference}." for difference in changes]
        placed = None if earlier else read_valid(placed_in(host, folder.name), PlacedRecord)
        if placed and sealed.nonce and sealed.nonce != placed.spec.nonce:
            verified.differs.append(
                f"{name} is another run than {name}.placed.json asked for: their nonces differ. "
                "Another run's folder was put here, or the run that was asked for was not collected."
            )
    except seal.SealError as error:
        verified.differs = [f"{name}: its seal {error}."]
    except FileNotFoundError:
        if folder.exists():
            verified.differs = [f"{name} has no seal."]
        elif why := why_absent(folder):
            verified.absent = why
        else:
            verified.differs = [
                f"{name} was placed on its host, and neither its files nor its seal are here."
            ]
    except OSError as error:
        verified.differs = [f"{name}: {error.filename} cannot be read: {error.strerror}."]
    return verified


def _verify_folder(results: Path, keys: list[bytes], verification: Verification) -> None:
    try:
        statement = seal.opened(files.content(results / RESULTS_SEAL), keys, seal.ResultsStatement)
    except seal.SealError as error:
        verification.differs.append(f"{results}: its seal {error}.")
        return
    except files.UnfitError as error:
        verification.differs.append(f"{results}: its seal cannot be read: {error.strerror}.")
        return
    except FileNotFoundError:
        more = any(not name.endswith(_OF_RUNS) for name in sealing.found(results))
        if more and any(verified.sealed_with for verified in verification.runs):
            verification.differs.append(
                f"{results} has no seal: a playbook still runs or was interrupted, or somebody removed it. "
                "Fix: run the same command again, which seals it."
            )
        elif is_results(results):
            verification.unchecked = (
                f"{results} has no seal of its own, as it is of an older Rekindle: its records and reports "
                "were not checked."
            )
        return
    sealed = seal.sealed_files(statement)
    verification.sealed = statement.predicate.sealed
    if began := sealing.unfinished(results, statement):
        verification.differs.append(
            f"A playbook that began at {began} has not sealed the folder: it still runs or was interrupted. "
            "Fix: run the same command again."
        )
    changes = seal.differences(sealed, sealing.found(results, sealed))
    verification.differs += [f"{difference}." for difference in changes]


def _lines(verified: Verified) -> list[str]:
    name = f"{verified.host}/{verified.job}"
    if verified.absent:
        return [f"{name} was never collected: {verified.absent}"]
    return verified.differs or [f"{name} is as it was sealed at {verified.judged}: {verified.verdict}."]


def _folders(results: Path) -> Iterator[Path]:
    for suffix in (".seal.json", ".placed.json"):
        for path in (*results.glob(f"*/*{suffix}"), *results.glob(f"*/{EARLIER}/*{suffix}")):
            yield path.with_name(path.name.removesuffix(suffix))
    for name in (VERDICT, SPEC):
        for path in results.glob(f"*/*/{name}"):
            yield path.parent


def _beside(folder: Path) -> Iterator[bytes]:
    for path in folder.parent.glob("*.pem"):
        with suppress(OSError):
            if seal.is_key(content := files.content(path, _KEY_LIMIT)):
                yield content


def _read_key(path: Path) -> bytes:
    content = b""
    with suppress(OSError):
        content = files.content(path.resolve(), _KEY_LIMIT)
    if not seal.is_key(content):
        raise RecordError(f"{path} is not a public key.", "name the .pem that lies beside a seal.")
    return content
