# SPDX-License-Identifier: Apache-2.0
"""Files beside a job's code that list packages: of pip, of pyproject.toml, of Poetry and of conda."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomllib
from packaging.requirements import InvalidRequirement, Requirement

from rekindle.host.files import read_content

from .yaml_texts import load_yaml

FILES = ("requirements.txt", "pyproject.toml", "environment.yml", "environment.yaml")
"""That are found by themselves, the first that is there."""
_LARGEST = 1 << 20
"""Bytes of one of them."""
_DOTS = 100
"""Of a key in TOML, whose parts take the square of their number to read."""
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)[\s=]*(.*)")
_ITSELF = re.compile(r"(?:(?:-e|--editable)[\s=]*)?\./?(?:\[[\w,\s-]*\])?")
"""The project of the file's own folder, as pip installs it."""


def read_package_file(path: Path, folder: Path) -> object:
    """Return what a file lists, line by line as pip would read it; whatever else stands there, as it is.

    Indexes and other options of a requirements.txt are left out: packages come from pip's own indexes. Of a
    conda environment only what it has pip install is read. Of files that are not in ``folder``, as links and
    included ones may be, only packages are returned, and nothing else that stands there is quoted.

    Raises:
        OSError, ValueError, AttributeError, yaml.YAMLError: it cannot be read.
    """
    return _PackageFiles(folder).read(path)


class _PackageFiles:
    """A file that lists packages, and those that it includes: each is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._read: set[Path] = set()

    def read(self, path: Path) -> object:
        found = self._list(path)
        return found if self._is_inside(path) else list(_require_packages(path, found))

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._folder)

    def _list(self, path: Path) -> Any:
        if path.suffix == ".toml":
            return self._project(path)
        if path.suffix in (".yml", ".yaml"):
            parts = load_yaml(self._text(path)).get("dependencies") or ()
            lines = [line for part in parts if isinstance(part, dict) for line in part.get("pip") or ()]
        else:
            lines = self._split(path)
        return list(self._walk(lines, path.parent))

    def _text(self, path: Path) -> str:
        return read_content(path.resolve(), _LARGEST).decode("utf-8-sig")

    def _split(self, path: Path) -> list[str]:
        return self._text(path).replace("\\\n", " ").splitlines()

    def _project(self, path: Path) -> Any:
        text = self._text(path)
        if any(line.partition("=")[0].count(".") > _DOTS for line in text.splitlines()):
            raise ValueError("a key has too many parts")
        content = tomllib.loads(text)
        poetry: Mapping[str, Any] = content.get("tool", {}).get("poetry", {}).get("dependencies", {})
        of_poetry = [_convert_poetry(name, given) for name, given in poetry.items() if name != "python"]
        return content.get("project", {}).get("dependencies", list(filter(None, of_poetry)))

    def _walk(self, lines: Iterable[object], folder: Path) -> Iterator[object]:
        """Yield the packages in lines of a requirements.txt in ``folder``, and in files that they include."""
        for given in lines:
            line = re.sub(r"(^|\s)#.*", "", given).strip() if isinstance(given, str) else ""
            option = _OPTION.fullmatch(line)
            if not isinstance(given, str):
                yield given
            elif _ITSELF.fullmatch(line):
                project = folder / "pyproject.toml"
                yield from self._project(project) if project.is_file() else ()
            elif option and option[1] in ("-r", "--requirement"):
                yield from self._include(folder / option[2])
            elif line and (not option or option[1] in ("-e", "--editable")):
                yield re.split(r"\s--?[A-Za-z]", line, maxsplit=1)[0].rstrip()

    def _include(self, path: Path) -> Iterator[object]:
        if path.resolve() not in self._read:
            self._read.add(path.resolve())
            found = self._walk(self._split(path), path.parent)
            yield from found if self._is_inside(path) else _require_packages(path, found)


def _require_packages(path: Path, lines: Iterable[object]) -> Iterator[object]:
    for line in lines:
        try:
            Requirement(line if isinstance(line, str) else "")
        except InvalidRequirement:
            raise ValueError(f"{path} is no list of packages") from None
        yield line


def _convert_poetry(name: str, given: Any) -> str:
    """Return a package as pip lists it, or as it is given if pip has no such thing; nothing if optional."""
    table = given if isinstance(given, dict) else {"version": given}
    if table.get("optional"):
        return ""
    if not isinstance(table.get("version"), str):
        return f"{name} @ {given}"
    extras = f"[{','.join(table['extras'])}]" if table.get("extras") else ""
    bounds = ",".join(_convert_bound(bound.strip()) for bound in table["version"].split(","))
    markers = f"; {table['markers']}" if table.get("markers") else ""
    return f"{name}{extras}{bounds}{markers}"


def _convert_bound(bound: str) -> str:
    """Return a bound of Poetry's as pip has it: ``^1.2`` is ``>=1.2,<2``, ``~1.2`` is ``>=1.2,<1.3``."""
    match = re.fullmatch(r"([\^~])\s*(\d+(?:\.\d+)*)(.*)", bound)
    if not match:
        return f"=={bound}" if bound[:1].isdigit() else bound.removeprefix("*")
    parts = [int(part) for part in match[2].split(".")]
    fixed = min(1, len(parts) - 1)
    if match[1] == "^":
        fixed = next((place for place, part in enumerate(parts) if part), len(parts) - 1)
    upper = ".".join(map(str, [*parts[:fixed], parts[fixed] + 1]))
    return f">={match[2]}{match[3]},<{upper}"
