# SPDX-License-Identifier: Apache-2.0
"""The Python that the controller brings to a host whose own do not fit."""

import re
from importlib.resources import files
from typing import NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from rekindle.host import folders
from rekindle.records import HostRecord, Python, Record, RecordError, allow_decoding, decode_json
from rekindle.records.events import Digest

from .needs import choose_interpreter

_NAME = re.compile(
    r"cpython-(\d+\.\d+\.\d+)\+\d{8}-(x86_64|aarch64)-unknown-linux-gnu-install_only(?:_stripped)?\.tar\.gz\Z"
)
"""python-build-standalone's. Source: its docs/distributions.rst."""
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


@allow_decoding
class _Pins(Record, kw_only=True, frozen=True):
    source: str
    sha256: dict[str, Digest]
    """By file name. Source: the download list of uv 0.13.8."""


class Archive(NamedTuple):
    """An archive of python-build-standalone."""

    source: str
    """A file on the controller, or a URL."""
    sha256: str
    version: str
    architecture: str


def find_archive(setting: str, architecture: str) -> Archive | None:
    """Return the archive for an architecture; None if there is no such one.

    Args:
        setting: ``rekindle_python_archive``: a file or URL, ``#sha256=…`` after it unless its name is pinned
            here; empty for the pinned one.
        architecture: as ``uname -m`` gives it.

    Raises:
        RecordError: the setting names no archive whose digest is known.
    """
    pins = decode_json(files(__package__).joinpath("brought.json").read_bytes(), _Pins)
    if not setting:
        names = (name for name in pins.sha256 if f"-{architecture}-" in name)
        setting = next((pins.source + name for name in names), "")
        if not setting:
            return None
    source, _, digest = setting.partition("#sha256=")
    name = name_archive(source)
    match = _NAME.match(name)
    if match is None:
        raise RecordError(
            f"rekindle_python_archive is {setting!r}, which is not an archive of python-build-standalone.",
            "name a cpython-….tar.gz of the kind install_only or install_only_stripped, for gnu.",
        )
    digest = digest or pins.sha256.get(name, "")
    if not _SHA256.match(digest):
        raise RecordError(
            f"rekindle_python_archive is {setting!r}, whose SHA-256 is not known.",
            "add #sha256= and the 64 digits to it.",
        )
    return Archive(source, digest, match[1], match[2]) if match[2] == architecture else None


def name_archive(source: str) -> str:
    """Return the file name of an archive that lies at ``source``, a path or a URL."""
    return unquote(source.rpartition("/")[2])


def add_brought(host: HostRecord, setting: str) -> HostRecord:
    """Return ``host`` with its own Pythons, and after them the one that can be brought, if its own are known.

    Raises:
        RecordError: as `find_archive` does.
    """
    folder = f"{host.root}/{folders.PYTHONS}"
    own = tuple(python for python in host.pythons if not python.path.startswith(f"{folder}/"))
    found = find_archive(setting, host.os.architecture)
    unknown = host.find_failed("pythons")
    if found is None or (unknown and unknown.timed_out):
        return replace(host, pythons=own)
    path = f"{folder}/{found.sha256[:12]}/bin/python3"
    brought = Python(path=path, version=found.version, archive=found.source, sha256=found.sha256)
    return replace(host, pythons=(*own, brought))


def describe_brought(host: HostRecord) -> str | None:
    """Return which Python is brought to run our driver, and why; None if the host's own is used."""
    used = choose_interpreter(host.pythons)
    brought = next((python for python in host.pythons if python.archive and python.path == used), None)
    if brought is None:
        return None
    own = [f"{python.version} at {python.path}" for python in host.pythons if python.archive is None]
    found = " and ".join(own) or "no Python"
    return f"{host.host} has {found}, and Python 3.10 to 3.12 fits: Python {brought.version} is copied to it."
