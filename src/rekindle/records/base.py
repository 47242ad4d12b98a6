# SPDX-License-Identifier: Apache-2.0
"""What every record has in common: strict and bounded fields, one JSON file, one-sentence errors."""

import re
import shutil
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta

from rekindle.host import files, storage

from .complaint import MissingError, RecordError, VersionError
from .text import LONGEST, change_texts, shorten_text

FILE_LIMIT = 32 << 20

T = TypeVar("T")

Text = Annotated[str, Meta(max_length=LONGEST)]
"""A name, a path, a few sentences; `write_record` shortens a longer one."""
Integer = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
"""Exact in any reader of JSON."""
Number = Annotated[float, Meta(ge=-1e100, le=1e100)]
"""Finite, and so are sums of them."""
Few = Annotated[tuple[T, ...], Meta(max_length=1_000)]
Many = Annotated[tuple[T, ...], Meta(max_length=100_000)]
Table = Annotated[dict[Text, T], Meta(max_length=100_000)]

Digits = Annotated[str, Meta(pattern=r"^[0-9]{1,5}(?:\.[0-9]{1,5}){0,3}\Z", max_length=23)]
"""A version of numbers alone: ``580.159.04``."""

_DAY = (
    r"(?:(?:19[7-9][0-9]|20[0-9]{2})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:19(?:7[26]|8[048]|9[26])|20(?:[02468][048]|[13579][26]))-02-29)"
)
_STAMP = rf"^{_DAY}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z\Z"
_SAMPLE = "2026-11-21T02:15:00Z"
_SECOND = "%Y-%m-%dT%H:%M:%SZ"
Timestamp = Annotated[str, Meta(pattern=_STAMP, max_length=LONGEST)]
"""UTC, ISO 8601 to the second, from 1970 to 2099: ``2026-11-21T02:15:00Z``."""
_ENDS = 4_102_444_799
Time = Annotated[float, Meta(ge=0, le=_ENDS)]
"""Seconds since the epoch, to the end of 2099."""
Seconds = Annotated[float, Meta(ge=0, le=_ENDS)]
"""How long something took: what can lie between two times."""
WholeSeconds = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Offset = Annotated[float, Meta(ge=-_ENDS, le=_ENDS)]
"""Seconds between two clocks; one may have been set to 1970."""

FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*\Z", max_length=200)]
"""A plain file name, also where it came from a host."""


Room = Annotated[str, Meta(pattern=r"^[a-z]+\Z", max_length=20)]
"""A room of this package, which registers what it is for."""


class Record(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A typed value that refuses unknown fields."""


RecordT = TypeVar("RecordT", bound=Record)

_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def allow_decoding(kind: T) -> T:
    """Let `decode_json` and `convert_builtins` accept the type ``kind``; call it as its module is imported.

    msgspec builds a type's decoder at its first use, and two threads at once crash there.
    """
    _DECODERS[kind] = msgspec.json.Decoder(kind)
    return kind


@allow_decoding
class _Versioned(msgspec.Struct):
    """A record of any version."""

    schema: str = ""


def decode_json(content: bytes | str, kind: type[T]) -> T:
    """Return JSON as a ``kind``, a type that `allow_decoding` made known.

    Raises:
        RecordError: it does not fit; the message names the place, and the caller adds the file and the fix.
    """
    try:
        value: T = _DECODERS[kind].decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        message = str(error).replace(f"`str` matching regex {_STAMP!r}", f"a time such as {_SAMPLE}")
        raise RecordError(shorten_text(message, 500)) from None
    return value


def convert_builtins(value: Any, kind: type[T]) -> T:
    """Return builtins, as YAML or a module gave them, as a ``kind``.

    Raises:
        RecordError: as `decode_json` does, also where JSON cannot hold the value.
    """
    try:
        content = msgspec.json.encode(value, enc_hook=_plain)
    except (TypeError, ValueError, OverflowError, NotImplementedError, RecursionError) as error:
        raise RecordError(shorten_text(str(error), 500)) from None
    return decode_json(content, kind)


def check_bounds(record: RecordT) -> RecordT:
    """Return ``record`` if it is within its schema's bounds, as one is that was read.

    Raises:
        RecordError: it is not; the message names the place.
    """
    return decode_json(_encode(record), type(record))


def require_folder(path: Path) -> None:
    """Refuse what is no folder, and say what is there instead.

    Raises:
        RecordError: nothing is there, or a file is, or a link that leads nowhere.
    """
    if path.is_dir():
        return
    if not path.exists():
        why = f"is a link to {path.readlink()}, which is not there" if path.is_symlink() else "does not exist"
        raise RecordError(f"{path} {why}.", "name a folder that is there.")
    endings = tuple(ending for _, some, _ in shutil.get_unpack_formats() for ending in some)
    if path.name.endswith(endings):
        raise RecordError(f"{path} is an archive.", "unpack it, and name the folder that was in it.")
    raise RecordError(f"{path} is not a folder.", "name a folder under results/.")


def read_record(path: Path, kind: type[RecordT]) -> RecordT:
    """Read ``path`` as a record of ``kind``.

    Raises:
        RecordError: the file is missing or too large, or does not fit the schema.
    """
    try:
        content = files.read_content(path, FILE_LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        fix = f"run the stage that writes {path.name}, or name another folder."
        raise MissingError(f"{path} does not exist.", fix) from None
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.", "name a readable file.") from None
    try:
        return decode_json(content, kind)
    except RecordError as error:
        _refuse_version(path, content, kind)
        message = f"{path} is not a valid {kind.__name__}: {error.message}."
        raise RecordError(message, "have its stage write it again, or name another file.") from None


def read_valid(path: Path, kind: type[RecordT]) -> RecordT | None:
    """Read ``path`` as a record of ``kind``; None if it is missing or broken."""
    with suppress(RecordError):
        return read_record(path, kind)
    return None


def has_schema(path: Path) -> bool:
    """Whether a file has a schema of Rekindle's, or is too damaged to show one."""
    try:
        content = files.read_content(path, FILE_LIMIT)
        record = msgspec.json.decode(content)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
        return True
    return isinstance(record, dict) and str(record.get("schema")).startswith("rekindle/")


def _refuse_version(path: Path, content: bytes, kind: type[Record]) -> None:
    known = get_args(get_type_hints(kind).get("schema"))
    try:
        schema = decode_json(content, _Versioned).schema
    except RecordError:
        return
    if schema not in known and schema.rpartition("/")[0] in {name.rpartition("/")[0] for name in known}:
        raise VersionError(
            f"{path} was written by another version of Rekindle: it is {shorten_text(schema, 100)}, "
            f"and this one reads {' and '.join(known)}.",
            "use the version that wrote it.",
        )


def write_record(path: Path, record: Record) -> None:
    """Write ``record`` to ``path`` as indented JSON, atomically; long texts are shortened."""
    content = _encode(record)
    parts = content.replace(b'\\"', b"'").split(b'"')  # each text of it is in one, with no fewer bytes
    if len(max(parts, key=len)) > LONGEST:
        content = msgspec.json.encode(change_texts(msgspec.json.decode(content), shorten_text))
    storage.write_file(path, msgspec.json.format(content, indent=2) + b"\n")


def format_time(moment: datetime | None = None) -> Timestamp:
    """Return ``moment``, which has a zone, or else now, in UTC and to the second.

    Raises:
        RecordError: no record can have it.
    """
    with suppress(ValueError, OverflowError):
        stamp = (moment or datetime.now(timezone.utc)).astimezone(timezone.utc).strftime(_SECOND)
        if re.match(_STAMP, stamp):
            return stamp
    raise RecordError(f"{moment} is no time from 1970 to 2099.", "see the clock that it is from.")


def parse_time(stamp: Timestamp) -> datetime:
    """Return the time that a record has.

    Raises:
        RecordError: it is not a time.
    """
    if not re.match(_STAMP, stamp):
        raise RecordError(f"{shorten_text(stamp, 100)!r} is not a time.", "see where it is from.")
    return datetime.strptime(stamp, _SECOND).replace(tzinfo=timezone.utc)


def convert_epoch(seconds: float) -> datetime:
    """Return the time that is so many seconds after the epoch.

    Raises:
        RecordError: no record can have it.
    """
    if not 0 <= seconds <= _ENDS:
        raise RecordError(f"{seconds:g} s is no time from 1970 to 2099.", "see the clock that it is from.")
    return datetime.fromtimestamp(seconds, timezone.utc)


def dump_builtins(record: Record) -> dict[str, Any]:
    """Return ``record`` as dictionaries, lists and plain strings."""
    builtins: dict[str, Any] = msgspec.json.decode(_encode(record))
    return builtins


def _encode(record: Record) -> bytes:
    return msgspec.json.encode(record, enc_hook=_plain)


def _plain(value: object) -> str | int | float:
    """Encode a subclass of a plain type, as Ansible's tagged values and unsafe texts are."""
    if isinstance(value, str):
        return str.encode(value).decode()  # an unsafe text's own methods return unsafe ones
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise NotImplementedError(f"no JSON for {type(value)}")
