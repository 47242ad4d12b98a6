"""What uv resolves a few requirements to, with the name and digest of every file."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomllib
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

_NEWEST_GLIBC_MINOR = 40  # wheels for a glibc from the future would go unlocked, no more
_NEWEST_OF_UV = "2_40"  # the newest --python-platform that uv 0.13 knows


class NoSolution(ValueError):
    """uv finds no versions that satisfy the requirements; the text is uv's."""


@dataclass(frozen=True)
class Package:
    """One pinned distribution and its files for the platform that was asked for."""

    name: str
    version: str
    wheels: Mapping[str, str]
    """File name to SHA-256."""
    sdist: Mapping[str, str]
    """The same, of one file or none."""


def linux_tags(python: str, architecture: str) -> frozenset[Tag]:
    """Return every tag of a wheel that CPython ``python`` on a glibc Linux can install."""
    version = tuple(int(part) for part in python.split("."))
    names = [f"manylinux_2_{minor}" for minor in range(_NEWEST_GLIBC_MINOR, 4, -1)]
    names += ["manylinux2014", "manylinux2010", "manylinux1", "linux"]
    platforms = [f"{name}_{architecture}" for name in names]
    interpreter = "cp" + "".join(python.split("."))
    return frozenset(
        [
            *cpython_tags(version, platforms=platforms),
            *compatible_tags(version, interpreter=interpreter, platforms=platforms),
        ]
    )


def resolve(  # noqa: PLR0913 - each is a part of the question
    requirements: Iterable[str],
    python: str,
    architecture: str,
    *,
    glibc: str,
    known: Mapping[str, str] | None = None,
    find_links: bool = False,
) -> list[Package]:
    """Resolve ``requirements`` for CPython ``python`` on Linux.

    Args:
        requirements: as in a requirements file.
        python: ``3.11``.
        architecture: ``x86_64`` or ``aarch64``.
        glibc: every package must have a wheel for this one, or source.
        known: pins to keep where the requirements allow it.
        find_links: whether UV_FIND_LINKS counts. It holds the CPU builds, which a CUDA build must not become.

    Raises:
        NoSolution: there is none.
    """
    platform = f"--python-platform={architecture}-manylinux_"
    oldest = [f"--python-version={python}", platform + glibc.replace(".", "_")]
    newest = [f"--python-version={python}", platform + _NEWEST_OF_UV, "--no-deps"]
    pins = {
        one["name"]: one["version"]
        for one in compile_pylock(requirements, known or {}, oldest, find_links=find_links)
    }
    # uv lists the wheels that the platform can install, and a newer host prefers those for a newer glibc.
    exact = [f"{name}=={version}" for name, version in pins.items()]
    files = compile_pylock(exact, pins, newest, find_links=find_links)
    tags = linux_tags(python, architecture)
    return [_package(entry, tags) for entry in files]


def compile_pylock(
    requirements: Iterable[str], known: Mapping[str, str], options: list[str], *, find_links: bool = False
) -> list[dict[str, Any]]:
    """Return the packages of the pylock that uv makes of ``requirements`` from the index alone.

    Args:
        requirements: as in a requirements file.
        known: pins to keep where the requirements allow it.
        options: of ``uv pip compile``.
        find_links: whether UV_FIND_LINKS counts too.

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
        command = ["uv", "pip", "compile", "-", "--format=pylock.toml", f"--output-file={output}"]
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
        found: list[dict[str, Any]] = tomllib.loads(output.read_text(encoding="utf-8"))["packages"]
    return found


def _package(entry: Mapping[str, Any], tags: frozenset[Tag]) -> Package:
    wheels = digests(entry.get("wheels", []))
    usable = {name: sha for name, sha in wheels.items() if parse_wheel_filename(name)[3] & tags}
    return Package(
        entry["name"], entry["version"], usable, digests([entry["sdist"]] if "sdist" in entry else [])
    )


def digests(files: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the SHA-256 of wheels or an sdist of a pylock, by file name."""
    found = {}
    for file in files:
        place: str = file.get("name") or file.get("url") or file["path"]
        found[place.rsplit("/", 1)[-1].replace("%2B", "+")] = file["hashes"]["sha256"]
    return found


def list_files(path: Path, names: Mapping[str, str]) -> None:
    """Write which file has which digest, as sha256sum does, from digests by file name."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted(names.items())]
    path.write_text("".join(lines), encoding="utf-8")
