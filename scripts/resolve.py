# SPDX-License-Identifier: Apache-2.0
"""Resolves requirements by uv, with the name, digest and size of every file."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import tomllib
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

from rekindle.locks import File, list_platforms, list_tags

_NEWEST_OF_UV = "2_40"  # the newest --python-platform that uv 0.13 knows


class NoSolution(ValueError):
    """uv finds no versions that satisfy the requirements; the text is uv's."""


@dataclass(frozen=True)
class Package:
    """One pinned distribution and its files for the platform that was asked for."""

    name: str
    version: str
    wheels: frozenset[File]
    sdist: frozenset[File]
    """At most one."""


def linux_tags(python: str, architecture: str) -> frozenset[Tag]:
    """Return every tag of a wheel that CPython ``python`` on a glibc Linux can install."""
    return frozenset(list_tags(python, list_platforms(architecture)))


def resolve(  # noqa: PLR0913 - each is a part of the question
    requirements: Iterable[str],
    python: str,
    architecture: str,
    *,
    glibc: str,
    known: Mapping[str, str] | None = None,
    find_links: bool = False,
    without: Iterable[str] = (),
) -> list[Package]:
    """Resolve ``requirements`` for CPython ``python`` on Linux.

    Args:
        requirements: as in a requirements file.
        python: ``3.11``.
        architecture: ``x86_64`` or ``aarch64``.
        glibc: every package must have a wheel for this one, or source.
        known: pins to keep where the requirements allow it.
        find_links: whether UV_FIND_LINKS counts. It holds the CPU builds, which a CUDA build must not become.
        without: names of packages to leave out, whatever requires them.

    Raises:
        NoSolution: there is none.
    """
    platform = f"--python-platform={architecture}-manylinux_"
    oldest = [f"--python-version={python}", platform + glibc.replace(".", "_")]
    newest = [f"--python-version={python}", platform + _NEWEST_OF_UV, "--no-deps"]
    pins = {
        entry["name"]: entry["version"]
        for entry in compile_pylock(requirements, known or {}, oldest, find_links=find_links, without=without)
    }
    # uv lists the wheels that the platform can install, and a newer host prefers those for a newer glibc.
    exact = [f"{name}=={version}" for name, version in pins.items()]
    files = compile_pylock(exact, pins, newest, find_links=find_links)
    tags = linux_tags(python, architecture)
    return [_package(entry, tags) for entry in files]


def compile_pylock(
    requirements: Iterable[str],
    known: Mapping[str, str],
    options: list[str],
    *,
    find_links: bool = False,
    without: Iterable[str] = (),
) -> list[dict[str, Any]]:
    """Return the packages of the pylock that uv makes of ``requirements`` from the index alone.

    Args:
        requirements: as in a requirements file.
        known: pins to keep where the requirements allow it.
        options: of ``uv pip compile``.
        find_links: whether UV_FIND_LINKS counts too.
        without: names of packages to leave out, whatever requires them.

    Raises:
        NoSolution: there is none.
    """
    environment = dict(os.environ)
    # A further index may mirror one platform only, and uv takes a version's files from the first that has it.
    environment.pop("UV_INDEX", None)
    if not find_links:
        environment.pop("UV_FIND_LINKS", None)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "pylock.toml")
        if known:  # uv prefers the pins of the file that it is about to replace
            pins = "".join(f'[[packages]]\nname = "{n}"\nversion = "{v}"\n' for n, v in known.items())
            output.write_text(f'lock-version = "1.0"\ncreated-by = "rekindle"\n{pins}', encoding="utf-8")
        left_out = Path(folder, "left_out.txt")
        left_out.write_text("\n".join(without), encoding="utf-8")
        command = ["uv", "pip", "compile", "-", "--format=pylock.toml", f"--output-file={output}"]
        # One Python resolves for all of them, and an attempt to download another takes long.
        command += [f"--excludes={left_out}", "--no-python-downloads"]
        done = subprocess.run(
            [*command, *options, "--quiet", "--no-config"],
            input="\n".join(requirements),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise NoSolution(f"{', '.join(requirements)} ({' '.join(options)}): {done.stderr}")
        packages: list[dict[str, Any]] = tomllib.loads(output.read_text(encoding="utf-8"))["packages"]
    return packages


def _package(entry: Mapping[str, Any], tags: frozenset[Tag]) -> Package:
    wheels = files(entry.get("wheels", []))
    usable = frozenset(file for file in wheels if parse_wheel_filename(file.name)[3] & tags)
    return Package(
        entry["name"], entry["version"], usable, files([entry["sdist"]] if "sdist" in entry else [])
    )


def files(entries: Iterable[Mapping[str, Any]]) -> frozenset[File]:
    """Return the wheels or the sdist of a package of a pylock.

    Raises:
        SystemExit: the index has no size.
    """
    found = set()
    for entry in entries:
        place: str = entry.get("url") or entry["path"]
        name: str = entry.get("name") or unquote(place.rsplit("/", 1)[-1])
        size: int | None = entry.get("size")
        if size is None and place.startswith("file:"):  # of UV_FIND_LINKS, where uv looks at names alone
            size = Path(unquote(urlsplit(place).path)).stat().st_size
        if size is None:
            raise SystemExit(f"The index has no size of {name}. Fix: lock against one that does.")
        found.add(File(entry["hashes"]["sha256"], size, name))
    return frozenset(found)
