"""``rekindle verify RESULTS``: whether the runs in a results folder are as they were sealed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rekindle.host.folders import SPEC, VERDICT
from rekindle.records import RecordError
from rekindle.records.text import one_line
from rekindle.results import seal, state
from rekindle.results.home import seal_of, why_absent

from .verb import BAD, GOOD, Answer, Json, Verb, answer


class Verified(msgspec.Struct):
    """One run, and what differs from its seal, a sentence each; none if nothing does."""

    host: str
    job: str
    differs: list[str] = []
    judged: str | None = None
    verdict: str | None = None
    """When it was sealed, and with which verdict; None if its seal proves nothing."""
    absent: str | None = None
    """Why it never came home, and so has no seal."""


class Verification(msgspec.Struct):
    """Every run of a results folder, and by whose key they were checked."""

    runs: list[Verified]
    keys: str
    """``yours``, ``asked`` (with ``--key``) or ``beside``: whose those are, only their user can tell."""


def run(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="A folder under results/.")],
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PUBLIC.pem",
            help="The key that has to have sealed them; yours by default, or the one beside the seals.",
        ),
    ] = None,
    json: Json = False,
) -> Answer:
    """Say of each run, by file, what differs from its seal.

    Raises:
        RecordError: there is no run in the folder, or no public key in the file.
    """
    folders = sorted({*_folders(results)})
    if not folders:
        raise RecordError(f"{results} holds no run.", "name a folder under results/.")
    own = state.own_key()
    asked = _read_key(key) if key else seal.public_key(own) if own else None
    runs = [_verified(folder, [asked] if asked else [*_beside(folder)]) for folder in folders]
    lines = [line for verified in runs for line in _lines(verified)]
    if asked is None:
        lines.append(
            "The keys lie beside the seals: whether they are the controller's, only its user can tell."
        )
    verification = Verification(runs, "asked" if key else "yours" if asked else "beside")
    status = BAD if any(verified.differs for verified in runs) else GOOD
    return answer(status, "\n".join(map(one_line, lines)), verification, json)


VERB = Verb(
    "verify",
    run,
    "Say which files of sealed runs were altered since.",
    Verification,
    ("results/RUN", "results/RUN --key theirs.pem --json"),
    "every run is as it was sealed",
    "something was altered, removed or added, or a run has no seal",
)


def _verified(folder: Path, keys: list[bytes]) -> Verified:
    verified = Verified(folder.parent.name, folder.name)
    name = f"{verified.host}/{verified.job}"
    try:
        statement = seal.opened(seal_of(folder).read_bytes(), keys)
        sealed = statement.predicate
        if (sealed.host, sealed.job) != (verified.host, verified.job):
            raise seal.SealError(f"is that of {sealed.host}/{sealed.job}")
        verified.judged, verified.verdict = sealed.judged, sealed.verdict
        verified.differs = [f"{name}/{difference}." for difference in seal.differences(statement, folder)]
    except seal.SealError as error:
        verified.differs = [f"{name}: its seal {error}."]
    except FileNotFoundError:
        gone = "was placed on its host, and neither its files nor its seal are here"
        verified.absent = None if folder.exists() else why_absent(folder) or None
        verified.differs = (
            [] if verified.absent else [f"{name} {'has no seal' if folder.exists() else gone}."]
        )
    except OSError as error:
        verified.differs = [f"{name}: {error.filename} cannot be read: {error.strerror}."]
    return verified


def _lines(verified: Verified) -> list[str]:
    name = f"{verified.host}/{verified.job}"
    if verified.absent:
        return [f"{name} never came home: {verified.absent}"]
    return verified.differs or [f"{name} is as it was sealed at {verified.judged}: {verified.verdict}."]


def _folders(results: Path) -> Iterator[Path]:
    for suffix in (".seal.json", ".placed.json"):
        for path in results.glob(f"*/*{suffix}"):
            yield path.with_name(path.name.removesuffix(suffix))
    for name in (VERDICT, SPEC):
        for path in results.glob(f"*/*/{name}"):
            yield path.parent


def _beside(folder: Path) -> Iterator[bytes]:
    for path in folder.parent.glob("*.pem"):
        content = path.read_bytes()
        if seal.is_key(content):
            yield content


def _read_key(path: Path) -> bytes:
    content = path.read_bytes() if path.is_file() else b""
    if not seal.is_key(content):
        raise RecordError(f"{path} is not a public key.", "name the .pem that lies beside a seal.")
    return content
