# SPDX-License-Identifier: Apache-2.0
"""Everything that is wrong with what people write by hand, where a decoder names the first alone."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

_NEAR = 0.6
"""Least ratio of difflib's, for names out of a few."""


def find_near(word: str, known: Iterable[str]) -> str:
    """Return the one of ``known`` that is most similar to ``word``, or ""."""
    plain = {name.casefold(): name for name in known}
    matches = difflib.get_close_matches(word.casefold(), plain, n=1, cutoff=_NEAR)
    return plain[matches[0]] if matches else ""


def find_misfits(value: Any, kind: Any, place: str = "$") -> Iterator[str]:
    """Yield each mistake for which ``value``, of builtins, is not a ``kind``, in msgspec's words.

    ``place`` is where it stands, as in ``$.proof[0]``.
    """
    kind = _without_metadata(kind)
    struct = next((one for one in _choices(kind) if _is_struct(one)), None)
    if struct and isinstance(value, Mapping):
        yield from _of_struct(value, struct, place)
    elif get_origin(kind) is tuple and isinstance(value, list) and _is_struct(get_args(kind)[0]):
        for number, item in enumerate(value):
            yield from find_misfits(item, get_args(kind)[0], f"{place}[{number}]")
    elif mistake := _mistake(value, kind, place):
        yield mistake


def _of_struct(value: Mapping[Any, Any], kind: Any, place: str) -> Iterator[str]:
    at, fields = _at(place), {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name, field in fields.items():
        if name not in value:
            if field.required:
                yield f"Object missing required field `{name}`{at}"
        elif found := [*find_misfits(value[name], field.type, f"{place}.{name}")]:
            yield from found
        elif mistake := _mistake(value[name], field.type, f"{place}.{name}"):
            yield mistake
    for name in (name for name in value if name not in fields):
        near = find_near(str(name), fields)
        yield f"Object contains unknown field `{name}`{at}{f', near `{near}`' if near else ''}"


def _mistake(value: Any, kind: Any, place: str) -> str | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, inner = str(error).partition(" - at `$")
        allowed = [word for one in _choices(kind) if get_origin(one) is Literal for word in get_args(one)]
        message += f", none of {', '.join(map(repr, allowed))}" if allowed else ""
        return message + _at(place + inner.removesuffix("`"))
    return None


def _at(place: str) -> str:
    return "" if place == "$" else f" - at `{place}`"


def _choices(kind: Any) -> tuple[Any, ...]:
    union = get_origin(kind) in (Union, UnionType)
    return tuple(map(_without_metadata, get_args(kind))) if union else (kind,)


def _without_metadata(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
