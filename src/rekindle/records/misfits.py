# SPDX-License-Identifier: Apache-2.0
"""Everything that is wrong with what people write by hand: a decoder names the first alone, in its words."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from .base import convert_builtins
from .complaint import RecordError
from .text import shorten_text

T = TypeVar("T")
_EXPECTED = re.compile(r"Expected `([^`]+)`(.*?)(?:, got `[^`]+`)?")
"""What msgspec says of a value."""
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_SHOWN = 60
_NEAR = 0.6
"""Least ratio of difflib's, for names out of a few."""


def find_near(word: str, known: Iterable[str]) -> str:
    """Return the one of ``known`` that is most similar to ``word``, or ""."""
    plain = {name.casefold(): name for name in known}
    matches = difflib.get_close_matches(word.casefold(), plain, n=1, cutoff=_NEAR)
    return plain[matches[0]] if matches else ""


def suggest_instead(word: str, known: Iterable[str]) -> str:
    """Return the fix for a ``word`` that is not in ``known``: the similar one, or all of them."""
    names = list(known)
    meant = find_near(word, names)
    return f"write {meant}." if meant else f"name one of {', '.join(names)}."


def convert_written(value: Any, kind: type[T]) -> T:
    """Return what somebody wrote, as builtins, as a ``kind``.

    Raises:
        RecordError: it is none; the message has all mistakes.
    """
    if mistakes := [*find_misfits(value, kind)]:
        raise RecordError("; ".join(mistakes))
    return convert_builtins(value, kind)


def find_misfits(value: Any, kind: Any, place: str = "") -> Iterator[str]:
    """Yield a clause for each mistake for which ``value``, of builtins, is not a ``kind``.

    ``place`` is where it stands, as in ``proof[0].claim``.
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
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name, field in fields.items():
        at = f"{place}.{name}".removeprefix(".")
        if name not in value:
            if field.required:
                yield f"`{at}` is missing"
        elif found := [*find_misfits(value[name], field.type, at)]:
            yield from found
        elif mistake := _mistake(value[name], field.type, at):
            yield mistake
    for name in (name for name in value if name not in fields):
        at = f"{place}.{name}".removeprefix(".")
        inside = [f"{part}.{name}" for part, field in fields.items() if name in _names_of(field.type)]
        meant = (inside if not place else []) or [*filter(None, [find_near(str(name), fields)])]
        yield f"`{at}` is no field" + (f", `{meant[0]}` is" if meant else "")


def _names_of(kind: Any) -> set[str]:
    """Return the names of the fields of a table."""
    structs = filter(_is_struct, _choices(_without_metadata(kind)))
    return {field.encode_name for one in structs for field in msgspec.structs.fields(one)}


def _mistake(value: Any, kind: Any, place: str) -> str | None:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        message, _, inner = str(error).partition(" - at `$")
        inner = inner.removesuffix("`")
        at = (place + inner).removeprefix(".")
        written = _follow(value, inner)
        allowed = [word for one in _choices(kind) if get_origin(one) is Literal for word in get_args(one)]
        expected = _EXPECTED.fullmatch(message)
        if allowed:
            takes = f"takes one of {', '.join(map(repr, allowed))}"
        elif expected:
            kinds = " or ".join(_KINDS.get(one, one) for one in expected[1].split(" | "))
            takes = f"takes {kinds}{expected[2].replace(' matching regex ', ' of the form ')}"
        else:
            takes = f"fits no field ({message})"
        braces = isinstance(written, Mapping) and [*written.values()] == [None]
        quotes = f': write "{{{next(iter(written))}}}" in quotes' if braces else ""
        return f"{f'`{at}`' if at else 'it'} is {_show(written)} and {takes}{quotes}"
    return None


def _follow(value: Any, place: str) -> Any:
    """Return what stands at a place in ``value``, as far as it is named."""
    for name, number in _STEP.findall(place):
        with suppress(LookupError, TypeError):
            value = value[int(number)] if number else value[name]
    return value


def _show(value: Any) -> str:
    """Return a value as YAML has it, shortened."""
    if isinstance(value, (dict, list)):
        return f"a {'mapping' if isinstance(value, dict) else 'list'} of {len(value)}"
    return "empty" if value is None else shorten_text(repr(value), _SHOWN)


def _choices(kind: Any) -> tuple[Any, ...]:
    union = get_origin(kind) in (Union, UnionType)
    return tuple(map(_without_metadata, get_args(kind))) if union else (kind,)


def _without_metadata(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
