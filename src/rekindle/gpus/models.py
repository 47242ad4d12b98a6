# SPDX-License-Identifier: Apache-2.0
"""Facts about models of GPUs by name or PCI device id: data, with a source for each."""

import functools
import re
from collections.abc import Iterable
from importlib.resources import files

from rekindle.records import Python, Record, allow_decoding, decode_json

_NUMBER = re.compile(r"[0-9]{1,99}")


class Model(Record, kw_only=True, frozen=True):
    """GPUs of one capability and kind."""

    name: str
    """Pattern of words in the driver's name of it."""
    capability: str
    open_module: bool | None = None
    """Whether it needs the open kernel module; None if it runs with either."""
    last_driver: str | None = None
    """Newest branch that supports it; None if current branches do."""


@allow_decoding
class _Models(Record, kw_only=True, frozen=True):
    sources: dict[str, str]
    models: tuple[Model, ...]


@allow_decoding
class _Devices(Record, kw_only=True, frozen=True):
    sources: dict[str, str]
    drivers: dict[str, tuple[str, ...]]
    """First driver → device ids; a GPU without an entry is supported by every driver that a build runs on."""
    devices: dict[str, str]
    """PCI device id, four hexadecimal digits → name."""


@functools.lru_cache(maxsize=4096)
def parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version, for comparison; other parts count as 0."""
    public, _, _ = text.partition("+")
    return tuple(int(part) if _NUMBER.fullmatch(part) else 0 for part in public.split("."))


def choose_python(pythons: Iterable[Python]) -> Python | None:
    """Return the interpreter to use: the host's own, outside of a virtual environment, then the newest."""

    def preference(python: Python) -> tuple[bool, bool, tuple[int, ...]]:
        return python.archive is None, not python.venv, parse_version(python.version)

    return max(pythons, key=preference, default=None)


@functools.lru_cache(maxsize=4096)
def find_model(name: str | None) -> Model | None:
    """Return the facts about the GPU that a driver calls ``name``; None if it is not known."""
    return next((model for pattern, model in _patterns() if pattern.search(name or "")), None)


def find_model_capability(name: str | None) -> str | None:
    """Return the compute capability of the GPU that a driver calls ``name``."""
    model = find_model(name)
    return model.capability if model else None


def find_capability(name: str | None, reported: str | None, device: str | None) -> str | None:
    """Return a GPU's compute capability, ``9.0``; None if it is not known.

    Args:
        name: given by the driver.
        reported: by the driver; drivers up to 470 do not report it.
        device: its PCI device id.
    """
    figure = re.match(r"[0-9]{1,2}\.[0-9]{1,2}(?=[af]?\Z)", (reported or "").strip())
    return (
        figure[0]
        if figure
        else find_model_capability(name) or find_model_capability(find_device_name(device))
    )


def find_device_name(device: str | None) -> str | None:
    """Return the name of a GPU by its PCI device id (``2335``); None if it is not known."""
    return _devices().devices.get((device or "").upper())


def find_first_driver(device: str | None) -> str | None:
    """Return the oldest driver for a PCI device id; None if every driver that a build runs on supports it."""
    wanted = (device or "").upper()
    return next((driver for driver, ids in _devices().drivers.items() if wanted in ids), None)


@functools.cache
def _patterns() -> tuple[tuple[re.Pattern[str], Model], ...]:
    data = decode_json(files("rekindle.gpus").joinpath("models.json").read_bytes(), _Models)
    return tuple(
        (re.compile(rf"(?<![A-Za-z0-9])(?:{model.name})(?![A-Za-z0-9])"), model) for model in data.models
    )


@functools.cache
def _devices() -> _Devices:
    return decode_json(files("rekindle.gpus").joinpath("devices.json").read_bytes(), _Devices)
