"""What every record has in common: strict fields, one JSON file, one-sentence errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from rekindle import files

Timestamp = str
"""UTC, ISO 8601 to the second: ``2026-11-21T02:15:00Z``."""

FileName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*\Z", max_length=200)]
"""A plain file name, also where it came from a host."""


class Record(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A typed value that refuses unknown fields."""


class RecordError(ValueError):
    """A file is not the record that it should be; the text says what, where and the fix."""


RecordT = TypeVar("RecordT", bound=Record)


def read(path: Path, kind: type[RecordT]) -> RecordT:
    """Read ``path`` as a record of ``kind``.

    Raises:
        RecordError: the file is missing, is no JSON, or does not fit the schema.
    """
    try:
        return msgspec.json.decode(files.content(path), type=kind)
    except FileNotFoundError:
        raise RecordError(
            f"{path} does not exist. Fix: run the stage that writes {path.name}, or name another folder."
        ) from None
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}. Fix: name a readable file.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(
            f"{path} is no {kind.__name__}: {error}. Fix: have its stage write it again."
        ) from None


def write(path: Path, record: Record) -> None:
    """Write ``record`` to ``path`` as indented JSON, whole or not at all."""
    files.write(path, msgspec.json.format(_encode(record), indent=2) + b"\n")


def to_builtins(record: Record) -> dict[str, Any]:
    """Return ``record`` as dictionaries, lists and plain strings."""
    builtins: dict[str, Any] = msgspec.json.decode(_encode(record))
    return builtins


def _encode(record: Record) -> bytes:
    return msgspec.json.encode(record, enc_hook=_plain)


def _plain(value: object) -> str:
    """Encode a subclass of str, as Ansible's tagged strings are."""
    if isinstance(value, str):
        return value.encode().decode()
    raise NotImplementedError(f"no JSON for {type(value)}")
