# SPDX-License-Identifier: Apache-2.0
"""Files beside a job's code that list packages: of pip, of pyproject.toml, of Poetry and of conda."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomllib
import yaml

FILES = ("requirements.txt", "pyproject.toml", "environment.yml", "environment.yaml")
"""That are found by themselves, the first that is there."""
_DEEPEST = 5
"""Of files that include each other."""
_OPTION = re.compile(r"(--?[A-Za-z][\w-]*)[\s=]*(.*)")
_ITSELF = re.compile(r"(?:(?:-e|--editable)[\s=]*)?\./?(?:\[[\w,\s-]*\])?")
"""The project of the file's own folder, as pip installs it."""


def read_package_file(path: Path) -> object:
    """Return what a file lists, line by line as pip would read it; whatever else stands there, as it is.

    Indexes and other options of a requirements.txt are left out: packages come from pip's own indexes. Of a
    conda environment only what it has pip install is read.

    Raises:
        OSError, ValueError, AttributeError, yaml.YAMLError: it cannot be read.
    """
    if path.suffix == ".toml":
        return _read_project(path)
    if path.suffix in (".yml", ".yaml"):
        parts = yaml.safe_load(path.read_text(encoding="utf-8")).get("dependencies") or ()
        lines = [line for part in parts if isinstance(part, dict) for line in part.get("pip") or ()]
    else:
        lines = _split_lines(path)
    return list(_read_lines(lines, path.parent, _DEEPEST))


def _read_project(path: Path) -> Any:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    poetry: Mapping[str, Any] = content.get("tool", {}).get("poetry", {}).get("dependencies", {})
    of_poetry = [_convert_poetry(name, given) for name, given in poetry.items() if name != "python"]
    return content.get("project", {}).get("dependencies", list(filter(None, of_poetry)))


def _read_lines(lines: Iterable[str], folder: Path, depth: int) -> Iterator[str]:
    """Yield the packages in lines of a requirements.txt in ``folder``, and in files that they include."""
    for line in (re.sub(r"(^|\s)#.*", "", str(line)).strip() for line in lines):
        option = _OPTION.fullmatch(line)
        if _ITSELF.fullmatch(line):
            project = folder / "pyproject.toml"
            yield from _read_project(project) if project.is_file() else ()
        elif option and option[1] in ("-r", "--requirement") and depth:
            path = folder / option[2]
            yield from _read_lines(_split_lines(path), path.parent, depth - 1)
        elif line and (not option or option[1] in ("-e", "--editable")):
            yield re.split(r"\s--?[A-Za-z]", line, maxsplit=1)[0].rstrip()


def _split_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").replace("\\\n", " ").splitlines()


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
