# SPDX-License-Identifier: Apache-2.0
"""``rekindle verify RESULTS``: whether a results folder, or a certificate, is as it was sealed."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from rekindle.host import files, storage
from rekindle.host.folders import PLACED, PLAY_RECORD, SPEC, SUMS, VERDICT
from rekindle.records import PlacedRecord, RecordError, VerdictRecord
from rekindle.records.base import read_valid, require_folder
from rekindle.records.layout import outcome_in
from rekindle.records.text import fold_line
from rekindle.results import certificate, seal, signature, state
from rekindle.results.contents import locate_placed

from .record_paths import find_results_above
from .verb import FAILED, NEWEST, OK, Answer, Json, Verb, print_answer

_LOCKED_S = 20
"""That a seal is waited for; it is written in far less."""
_KEY_LIMIT = 1 << 16


class RunVerification(msgspec.Struct):
    """One run, and a sentence for each difference from the seal."""

    host: str
    job: str
    differs: list[str] = []
    verdict: str | None = None
    """None if it differs."""
    absent: str | None = None
    """Why it was never collected, if so."""


class Verification(msgspec.Struct):
    """A results folder and every run in it, and whose key was used."""

    runs: list[RunVerification]
    keys: Literal["yours", "asked", "any"]
    """``asked``: by ``--key``; ``any``: only its owner knows whose it is."""
    signer: str | None = None
    """The fingerprint of the key that sealed it."""
    sealed: str | None = None
    """When a playbook that ended sealed it."""
    differs: list[str] = []
    """A sentence for each other difference from the seal."""


def run(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="[RESULTS]",
            help="A folder under results/, the newest by default; or a certificate of rekindle accept.",
        ),
    ] = NEWEST,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Who has to have sealed them: a file KEY.pub of OpenSSH's, or SHA256:...; you by default.",
        ),
    ] = None,
    json: Json = False,
) -> Answer:
    """Name each file of a results folder that differs from its seal.

    Raises:
        RecordError: there is no run in the folder, or no public key in the file.
    """
    own = state.find_public_key()
    expected = _read_key(key) if key is not None else own and signature.format_fingerprint(own)
    keys: Literal["yours", "asked", "any"] = "asked" if key is not None else "yours" if own else "any"
    if certificate.is_certificate(results.resolve()):
        return _verify_certificate(results, expected, Verification([], keys), json)
    if results.suffix == ".html" and results.is_file():
        message = f"{results} is no certificate of rekindle accept, or its beginning was altered."
        raise RecordError(message, "ask whoever gave it to you for another, or name a folder under results/.")
    require_folder(results)
    runs = _find_runs(results)
    if not runs and not (results / SUMS).exists():
        raise RecordError(f"{results} has no run.", f"name {_find_near(results)}.")
    verification = Verification([], keys)
    try:
        with storage.lock_folder(results, wait_s=_LOCKED_S):
            sealed = seal.read_seal(results, expected)
    except BlockingIOError:
        message = f"Another process has held {results} locked for {_LOCKED_S} s."
        raise RecordError(message, "end the playbook that is stopped there, and ask again.") from None
    except seal.SealError as error:
        verification.differs.append(str(error))
    else:
        _compare(results, sealed, runs, verification)
    lines = [line for verified in verification.runs for line in _lines(verified)] + verification.differs
    if verification.sealed and not verification.differs:
        lines.append(f"All other files are as they were sealed at {verification.sealed}.")
    if expected is None and verification.signer:
        lines.append(
            f"They were sealed by the key {verification.signer}: only its owner knows whether it is the "
            "controller's."
        )
    same = not verification.differs and not any(verified.differs for verified in verification.runs)
    return print_answer(OK if same else FAILED, "\n".join(map(fold_line, lines)), verification, json)


VERB = Verb(
    "verify",
    run,
    Verification,
    ("results/RUN", "results/RUN --key theirs.pub --json", "gpus.html --key SHA256:kXZ..."),
    "everything is as it was sealed",
    "something was altered, removed or added, or is not sealed",
)


def _verify_certificate(path: Path, expected: str | None, verification: Verification, json: bool) -> Answer:
    try:
        signer = signature.format_fingerprint(certificate.find_page_signer(path.resolve()))
    except seal.SealError as error:
        verification.differs.append(str(error))
        return print_answer(FAILED, fold_line(str(error)), verification, json)
    verification.signer = signer
    text = f"{path} is as it was signed by the key {signer}"
    if expected not in {None, signer}:
        verification.differs.append(
            f"{path} was signed by another key, {signer}. Fix: name its owner's by --key, if you trust it."
        )
        return print_answer(FAILED, fold_line(verification.differs[0]), verification, json)
    text += "." if expected else ": ask whoever gave it to you whether that is theirs, and name it by --key."
    return print_answer(OK, fold_line(text), verification, json)


def _compare(results: Path, sealed: seal.Seal, runs: set[str], verification: Verification) -> None:
    """Add what differs from the seal, the runs' own files under the runs."""
    verification.signer, verification.sealed = signature.format_fingerprint(sealed.signer), sealed.at
    unread: dict[str, str] = {}
    digests = seal.digest_files(results, unread=unread)
    differences = seal.list_differences(sealed.digests, digests, unread)
    sealed_runs, told = seal.find_runs(sealed.digests), set[str]()
    for name in sorted(runs | sealed_runs):
        own_ones = [
            file
            for file in differences
            if seal.is_within(file, name) or (name in sealed_runs and seal.is_within(name, file))
        ]
        found = [differences[file] for file in own_ones]
        verification.runs.append(_verify_run(results, name, found, is_sealed=name in sealed_runs))
        told.update(own_ones)
    if sealed.at is None:
        verification.differs.append(
            "The first playbook in the folder still runs or was interrupted: only its runs are sealed. "
            "Fix: run the same command again."
        )
        return
    if began := seal.find_unsealed_play(results, sealed):
        verification.differs.append(
            f"A playbook that began at {began} has not sealed the folder: it still runs or was interrupted. "
            "Fix: run the same command again."
        )
    verification.differs += [says for file, says in differences.items() if file not in told]


def _verify_run(results: Path, name: str, differs: list[str], *, is_sealed: bool) -> RunVerification:
    host, _, job = name.partition("/")
    verified, folder = RunVerification(host, job), results / name
    verdict = read_valid(folder / VERDICT, VerdictRecord)
    placed = read_valid(locate_placed(folder.parent, folder.name), PlacedRecord)
    if not is_sealed and differs:
        verified.differs = [f"{name} is not sealed."]
    elif not is_sealed:
        with suppress(RecordError):
            verified.absent = str(outcome_in(results / host).complaint)
        if not verified.absent:
            verified.differs = [f"{name} was placed on its host, and was never collected."]
    elif differs:
        verified.differs = differs
    elif verdict:
        verified.verdict = verdict.verdict
        if placed and verdict.nonce and verdict.nonce != placed.spec.nonce:
            verified.differs = [
                f"{name} is another run than {name}{PLACED} asked for: their nonces differ. Another run's "
                "folder was put here, or the run that was asked for was not collected."
            ]
    return verified


def _lines(verified: RunVerification) -> list[str]:
    name = f"{verified.host}/{verified.job}"
    if verified.absent:
        return [f"{name} was never collected: {verified.absent}"]
    if verified.differs:
        return verified.differs
    what = verified.verdict or "a verdict of another version of Rekindle"
    return [f"{name} is as it was sealed: {what}."]


def _find_runs(results: Path) -> set[str]:
    """Return the folders of runs, <host>/<job>, that are there or were to be."""
    placed = (path.relative_to(results).as_posix() for path in files.list_files(results, f"*/*{PLACED}"))
    names = {name.removesuffix(PLACED) for name in placed}
    return names | seal.list_runs(results) | seal.list_runs(results, SPEC)


def _find_near(folder: Path) -> str:
    """Return the results folder around ``folder`` or in it; if there is none, what one is."""
    inside = (path.parent for path in sorted(folder.glob(f"*/{PLAY_RECORD}")))
    return str(find_results_above(folder) or next(inside, "a folder under results/"))


def _read_key(key: str) -> str:
    """Return the fingerprint that was given, or that of a public key's file."""
    if key.startswith("SHA256:"):
        return key
    path = Path(key)
    if not key or not path.exists():
        raise RecordError(
            f"{key!r} is no file and no fingerprint.",
            "name the file of a public key, or its fingerprint SHA256:…",
        )
    with suppress(OSError):
        if public := signature.parse_public_key(files.read_content(path.resolve(), _KEY_LIMIT)):
            return signature.format_fingerprint(public)
    raise RecordError(
        f"{path} is not a public key of Ed25519.",
        "name the key.pub in ~/.local/state/rekindle of the controller's user, or its fingerprint SHA256:…",
    )
