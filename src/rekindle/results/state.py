# SPDX-License-Identifier: Apache-2.0
"""The controller's state for its user, apart from all results: what it sent to hosts, and its key.

$XDG_STATE_HOME/rekindle/, or ~/.local/state/rekindle/
    sent/<digest of host and run>.json  locks/<digest>  key  key.pub
"""

import hashlib
import os
import secrets
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from rekindle.host import storage
from rekindle.records import (
    Record,
    RunSpec,
    VerdictKind,
    allow_decoding,
    explain_unwritten,
    format_time,
    parse_time,
    write_record,
)
from rekindle.records.base import Timestamp, read_valid

from . import signature

_KEY, _PUBLIC = "key", "key.pub"


@allow_decoding
class SentRun(Record, kw_only=True, frozen=True):
    """One run as it was sent to a host."""

    spec: RunSpec
    judged: VerdictKind | None = None
    """Our verdict; None until it is collected."""
    at: Timestamp | None = None
    started: Timestamp | None = None
    """By its host's clock."""


def make_state_folder(name: str = "") -> Path:
    """Return a folder of this user's state, which is made for its owner alone.

    Raises:
        RecordError: it cannot be made.
    """
    base = _base()
    with explain_unwritten(base, "have XDG_STATE_HOME name a folder of yours."):
        for path in dict.fromkeys([base, base / name]):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.chmod(0o700)
    return base / name


def agree_nonce(run: str, spec: RunSpec, *, again: bool, oldest: Timestamp | None = None) -> RunSpec:
    """Return ``spec`` with the nonce under which ``run`` is sent to its host, which is kept.

    The nonce stays until its run has been judged as other than PASS, or as PASS and is to run ``again``, or
    its evidence is from before ``oldest``.

    Raises:
        RecordError: it cannot be kept.
    """
    path = _path(spec.host, run)
    with storage.lock_folder(path.parent):
        before = read_valid(path, SentRun)
        old = before and oldest and _old(before, oldest)
        if before and not old and (before.judged is None or (before.judged == "PASS" and not again)):
            kept = before.spec
            return replace(spec, nonce=kept.nonce, clock=kept.clock, gpus=kept.gpus)
        spec = replace(spec, nonce=secrets.token_hex(16))
        keep_spec(run, spec)
        return spec


def _old(before: SentRun, oldest: Timestamp) -> bool:
    """Whether a run was judged before ``oldest``, or never, and must have ended before then."""
    if before.judged:
        return (before.at or "") < oldest
    clock, limit = before.spec.clock, timedelta(seconds=before.spec.job.limit_s)
    return (
        clock is not None
        and not before.spec.allocation
        and parse_time(clock.asked) + limit < parse_time(oldest)
    )


def find_sent_spec(run: str, spec: RunSpec) -> RunSpec:
    """Return ``spec`` as ``run`` was sent to its host under the same nonce, if it was, and keep it."""
    path = _path(spec.host, run)
    with storage.lock_folder(path.parent):
        before = read_valid(path, SentRun)
        if before and before.spec.nonce == spec.nonce:
            kept = before.spec
            return replace(spec, clock=kept.clock, gpus=kept.gpus, member=kept.member)
        keep_spec(run, spec)
        return spec


def keep_spec(run: str, spec: RunSpec) -> None:
    """Keep ``spec`` as what ``run`` was sent with."""
    write_record(_path(spec.host, run), SentRun(spec=spec))


def note_verdict(
    run: str, spec: RunSpec, judged: VerdictKind, started: Timestamp | None = None
) -> Timestamp | None:
    """Keep the verdict on ``run``, unless it has been sent with another nonce since.

    Returns when this same run was judged PASS before, or None.
    """
    path = _path(spec.host, run)
    with storage.lock_folder(path.parent):
        before = read_valid(path, SentRun)
        if before is None or before.spec.nonce != spec.nonce:
            return None
        again = (before.judged, before.started) == (judged, started) == ("PASS", started)
        kept = before.at if again else None
        write_record(path, SentRun(spec=spec, judged=judged, at=kept or format_time(), started=started))
        return kept


def read_sent(host: str, run: str) -> RunSpec | None:
    """Return the spec that ``run`` was sent to ``host`` with; None if it was not sent by this user."""
    before = read_valid(_path(host, run), SentRun)
    return before.spec if before else None


def keep_sent_lock(text: str) -> None:
    """Keep a lock that is sent to a host."""
    content = text.encode()
    path = make_state_folder("locks") / hashlib.sha256(content).hexdigest()
    if not path.exists():
        storage.write_file(path, content)


def find_sent_lock(sha256: str) -> str | None:
    """Return the lock with that digest, if it was ever sent from here."""
    path = make_state_folder("locks") / Path(sha256).name
    content = path.read_bytes() if path.is_file() else b""
    return content.decode() if hashlib.sha256(content).hexdigest() == sha256 else None


def provide_key() -> bytes:
    """Return the controller's private key, which is made at its first use, with the public one beside it.

    Raises:
        RecordError: the user's folder for it cannot be made.
        OSError: it cannot be read or written.
    """
    path = make_state_folder() / _KEY
    with storage.lock_folder(path.parent):  # other processes of this user may make one too
        if not path.exists():
            storage.write_file(path, signature.generate_key())
        private = path.read_bytes()
        if not path.with_name(_PUBLIC).exists():
            storage.write_file(
                path.with_name(_PUBLIC), f"{signature.format_public_key(private)} rekindle\n".encode()
            )
        return private


def find_public_key() -> str | None:
    """Return the controller's public key, if it was ever used."""
    path = _base() / _KEY
    return signature.format_public_key(path.read_bytes()) if path.exists() else None


def _base() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "rekindle")


def _path(host: str, run: str) -> Path:
    name = hashlib.sha256(f"{host}\0{Path(run).name}".encode()).hexdigest()[:32]
    return make_state_folder("sent") / f"{name}.json"
