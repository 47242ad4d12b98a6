# SPDX-License-Identifier: Apache-2.0
"""The seal of a results folder: the digests of its files, signed by the controller's key.

results/<run>/SHA256SUMS      for ``sha256sum -c``; a comment has when a playbook last sealed the folder
results/<run>/SHA256SUMS.sig  for ``ssh-keygen -Y verify -n rekindle``

The files of a run are sealed when it is judged, by `seal_run` alone; all others at the end of each playbook,
by `seal_folder`.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rekindle.host import files, folders, storage
from rekindle.records import Complaint, RecordError, Timestamp, format_time
from rekindle.records.layout import play_in

from . import signature, state

_LINE = re.compile(r"^([0-9a-f]{64})  (.+)$", re.MULTILINE)
_SEALED_AT = re.compile(r"^# sealed at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$", re.MULTILINE)
_VERDICT = re.compile(rf"([^/]+/(?:{folders.EARLIER}/)?[^/]+)/{re.escape(folders.VERDICT)}")
_FOLDER = re.compile(r"[^/]+/[^/]+/")


class Seal(NamedTuple):
    """What a results folder was sealed with."""

    digests: dict[str, str] = {}
    """SHA-256 by the file's name in the folder."""
    at: Timestamp | None = None
    """When a playbook that ended sealed the folder; None if none did."""
    signer: str = ""
    """The public key that signed it."""


class SealError(Complaint):
    """A results folder has no seal, or none that counts."""


class OtherSealError(SealError):
    """Another key than the one that is asked for sealed a results folder."""


def read_seal(results: Path, fingerprint: str | None = None) -> Seal:
    """Return the seal of a results folder, if it is by the key of that ``fingerprint``, or else by any.

    Raises:
        SealError: there is none, it was altered, or another key signed it.
    """
    sums, again = results / folders.SUMS, "run the same command again, which collects and seals its runs."
    try:
        content, signed = (files.read_content(path) for path in (sums, results / folders.SIGNATURE))
    except FileNotFoundError:
        message = (
            f"{results} has no seal: a playbook still runs or was interrupted, or somebody removed "
            f"{folders.SUMS} or {folders.SIGNATURE}."
        )
        raise SealError(message, again) from None
    except OSError as error:
        message = f"The seal of {results} cannot be read: {error.strerror} ({error.filename})."
        raise SealError(message, again) from None
    try:
        signer = signature.find_signer(content, signed)
    except signature.SignatureError:
        message = f"{sums} was altered, or its signature was: they do not fit each other."
        raise SealError(message, again) from None
    found = signature.format_fingerprint(signer)
    if fingerprint not in {None, found}:
        message = f"{results} was sealed by another key, {found}."
        raise OtherSealError(message, "name its owner's key by --key, if you trust it.")
    text = content.decode(errors="replace")
    at = _SEALED_AT.search(text)
    return Seal({name: digest for digest, name in _LINE.findall(text)}, at and at[1], signer)


def find_seal_trouble(results: Path) -> SealError | None:
    """Return why the seal of a results folder is not this user's; None if it is, or there is none."""
    try:
        _read_own_seal(results)
    except SealError as error:
        return error if (results / folders.SUMS).exists() else None
    return None


def check_folder(results: Path) -> None:
    """Check that the records of a results folder are as this user's key sealed them.

    Raises:
        SealError: it has no such seal, or a record differs from it.
        OSError: a file cannot be read.
    """
    own = signature.format_fingerprint(signature.format_public_key(state.provide_key()))
    with storage.lock_folder(results):
        found = list_differences(read_seal(results, own).digests, digest_files(results))
    if differences := [says for name, says in found.items() if _is_recorded(name)]:
        more = f" {len(differences) - 1} more differ." if differences[1:] else ""
        message = f"{results} is not as it was sealed: {differences[0]}{more}"
        raise SealError(message, f"see rekindle verify {results}, and measure again what was altered.")


def find_altered_record(results: Path) -> SealError | None:
    """Return that a record of a folder, of which reports are made, differs from its own seal; else None.

    While a playbook writes to it, nothing tells that. A file that is not read may differ.
    """
    sealed = _ended_seal(results).digests
    for name in sorted(name for name in sealed if name.endswith(".json") and _is_recorded(name)):
        with suppress(OSError):
            if files.digest_file(results / name) == sealed[name]:
                continue
        return SealError(
            f"{results} is not as it was sealed: {name} was altered, is missing or cannot be read.",
            f"see rekindle verify {results}; no report is made of that.",
        )
    return None


def _is_recorded(name: str) -> bool:
    """Whether a file of a results folder is what reports and certificates are made of, and none of them."""
    return "/" in name or name in (folders.PLAY_RECORD, folders.FABRIC_RECORD)


def seal_run(folder: Path) -> None:
    """Seal the files of results/<run>/<host>/<job> as they are.

    Raises:
        RecordError: the user's folder for the key cannot be made.
        OSError: something cannot be read or written.
    """
    results, name = folder.parents[1], _name(folder)
    now = digest_files(results, within=name)
    _change(results, lambda sealed: _without(sealed, [name]) | now)


def forget_run(folder: Path) -> None:
    """Drop results/<run>/<host>/<job> from the seal, as another run takes its place."""
    _change(folder.parents[1], lambda sealed: _without(sealed, [_name(folder)]))


def set_run_aside(folder: Path) -> None:
    """Move results/<run>/<host>/<job> to earlier/<job>-<number> beside it, as it was sealed."""
    earlier = folder.with_name(folders.EARLIER)
    storage.make_folder(earlier)
    target = earlier / f"{folder.name}-{len(list(earlier.glob(f'{folder.name}-*'))) + 1}"
    folder.rename(target)
    results, before = folder.parents[1], f"{_name(folder)}/"
    after = f"{target.relative_to(results).as_posix()}/"

    def move(name: str) -> str:
        return after + name.removeprefix(before) if name.startswith(before) else name

    _change(results, lambda sealed: {move(name): digest for name, digest in sealed.items()})


def take_digests(results: Path) -> dict[str, str] | None:
    """Return the digests of a folder's files outside of its runs, before something is written to it.

    None if they are not sealed: there is no seal, or a playbook that wrote to the folder did not end.
    """
    return digest_files(results, but=list_runs(results)) if _ended_seal(results).signer else None


def seal_folder(results: Path, before: Mapping[str, str] | None) -> None:
    """Seal the files of a results folder, other than those of its runs.

    A file that did not change since ``before``, by `take_digests`, keeps its sealed digest, so that
    alterations stay visible.

    Raises:
        RecordError: the user's folder for the key cannot be made.
        OSError: something cannot be read or written.
    """
    on_disk = list_runs(results)
    found = digest_files(results, but=on_disk)

    def change(sealed: dict[str, str]) -> dict[str, str]:
        runs = on_disk | find_runs(sealed)
        others, now = _without(sealed, runs), _without(found, runs)
        same: set[str] = set()
        if before is not None:
            same = {name for name in {*before, *others} if before.get(name) == now.get(name)}
        kept = (sealed.keys() - others.keys()) | (sealed.keys() & same)
        return {name: now[name] for name in now.keys() - same} | {name: sealed[name] for name in kept}

    _change(results, change, format_time())


def find_unsealed_play(results: Path, seal: Seal) -> Timestamp | None:
    """Return the start of a playbook that has not sealed the folder since; None if there is none."""
    with suppress(RecordError):
        began = max(play_in(results).began.values(), default="")
        return began if began > (seal.at or "") else None
    return None


def find_runs(names: Iterable[str]) -> set[str]:
    """Return the folders of runs, <host>/<job>, among the names of files: those with a verdict."""
    return {found[1] for found in map(_VERDICT.fullmatch, names) if found}


def list_differences(
    sealed: Mapping[str, str], now: Mapping[str, str], unread: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return a sentence, by the file's name, for each that differs from its seal.

    A folder in a host's, as a run's is, that is missing or was added has one, by its name with ``/``.

    Args:
        sealed: digests.
        now: digests.
        unread: why each file or folder could not be read.
    """
    unread = unread or {}
    missing = dict.fromkeys(_join(sealed.keys() - now.keys(), now), "is missing")
    added = dict.fromkeys(_join(now.keys() - sealed.keys(), sealed), "was added")
    altered = {name: "was altered" for name, digest in sealed.items() if now.get(name, digest) != digest}
    found = missing | added | altered
    seen = {name: why for name, why in found.items() if not any(is_within(name, one) for one in unread)}
    seen |= {name: f"cannot be read: {why}" for name, why in unread.items()}
    return {
        name: f"{name if name.isprintable() else ascii(name)} {why}." for name, why in sorted(seen.items())
    }


def is_within(name: str, folder: str) -> bool:
    """Whether a file or folder is ``folder``, or lies in it."""
    return f"{name.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


def _join(names: Iterable[str], others: Iterable[str]) -> set[str]:
    """Return ``names``; for those in a folder of a host's in which no other is, that folder."""
    known = {found[0] for found in map(_FOLDER.match, others) if found}
    wholes = {name: found[0] for name in names if (found := _FOLDER.match(name)) and found[0] not in known}
    return {wholes.get(name, name) for name in names}


def digest_files(
    results: Path, within: str = "", but: Collection[str] = (), unread: dict[str, str] | None = None
) -> dict[str, str]:
    """Return the SHA-256 of a results folder's files by name; empty for what is no regular file.

    Left out are the seal, and the incomplete next version of a file.

    Args:
        results: results/<run>.
        within: a folder in it, to be read alone.
        but: folders in it, to be left out.
        unread: gets why each file or folder cannot be read.

    Raises:
        OSError: one cannot be read, and ``unread`` is not given.
    """
    left = {results / name for name in (folders.SUMS, folders.SIGNATURE, *but)}
    digests = {}

    def note(error: OSError) -> None:
        if unread is None:
            raise error
        unread[Path(error.filename).relative_to(results).as_posix()] = str(error.strerror)

    for base, inner, names in os.walk(results / within, onerror=note):
        inner[:] = [name for name in inner if Path(base, name) not in left and not _is_next(Path(base, name))]
        links = [name for name in inner if Path(base, name).is_symlink()]
        for path in (Path(base, name) for name in (*names, *links)):
            if path in left or _is_next(path):
                continue
            plain = path.is_file() and not path.is_symlink()
            try:
                digests[path.relative_to(results).as_posix()] = files.digest_file(path) if plain else ""
            except FileNotFoundError:  # another playbook is just writing it
                continue
            except OSError as error:
                note(error)
    return digests


def _is_next(path: Path) -> bool:
    return files.is_partial(path.name) and path.with_name(path.name[1:].rpartition(".")[0]).exists()


def list_runs(results: Path, has: str = folders.VERDICT) -> set[str]:
    """Return the folders of runs, <host>/<job>, earlier ones too: those with a file of that name."""
    patterns = (f"*/*/{has}", f"*/{folders.EARLIER}/*/{has}")
    paths = (path for pattern in patterns for path in files.list_files(results, pattern))
    return {path.parent.relative_to(results).as_posix() for path in paths}


def _without(digests: Mapping[str, str], runs: Iterable[str]) -> dict[str, str]:
    inside = tuple(f"{name}/" for name in runs)
    return {name: digest for name, digest in digests.items() if not name.startswith(inside)}


def _name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"


def _change(
    results: Path, change: Callable[[dict[str, str]], dict[str, str]], at: Timestamp | None = None
) -> None:
    """Seal what ``change`` makes of the digests that are sealed; ``at`` is set by a playbook that ends."""
    key = state.provide_key()
    with storage.lock_folder(results):  # hosts' runs are judged by several processes
        last = _own_seal(results)
        sealed = sorted(change(last.digests).items())
        lines = [f"{digest}  {name}" for name, digest in sealed if digest and _is_plain(name)]
        header = [f"# sealed at {at or last.at}"] if at or last.at else []
        content = "".join(f"{line}\n" for line in (*header, *lines)).encode()
        storage.write_file(results / folders.SUMS, content)
        storage.write_file(results / folders.SIGNATURE, signature.sign_content(content, key))


def _is_plain(name: str) -> bool:
    """Whether a name is one that we give to files, which needs no escapes in a list of digests."""
    return name.isprintable() and "\\" not in name


def _own_seal(results: Path) -> Seal:
    """Return the seal of a results folder by the controller's own key; an empty one if it has none."""
    with suppress(SealError):
        return _read_own_seal(results)
    return Seal()


def _ended_seal(results: Path) -> Seal:
    """Return that seal, but an empty one while a playbook that wrote to the folder did not end."""
    seal = _own_seal(results)
    return Seal() if find_unsealed_play(results, seal) else seal


def _read_own_seal(results: Path) -> Seal:
    """Return that seal; who has no key yet has none. It raises what `read_seal` does."""
    public = state.find_public_key()
    return read_seal(results, signature.format_fingerprint(public) if public else "")
