# SPDX-License-Identifier: Apache-2.0
"""Writes which names and arguments each release of NVFlare took or brought: src/rekindle/flare/moved.json.

`python scripts/compare_nvflares.py FOLDER`: of the wheels in it, of `pip download nvflare==X --no-deps`.
"""

import ast
import json
import re
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version

TARGET = Path(__file__).parents[1] / "src" / "rekindle" / "flare" / "moved.json"
_PUBLIC = re.compile(
    r"nvflare\.(?:apis|app_common|app_opt|client|edge|fuel\.(?:hci\.client|utils)|job_config|lighter|recipe"
    r"|private\.fed\.app\.simulator)\b"
)
"""What jobs and provisioning import."""

Arguments = tuple[str, ...] | None
"""None of what takes any, or is not called."""


class Module(NamedTuple):
    """What a module of one release has."""

    own: dict[str, Arguments]
    """Its own names, and those that a package lends from its modules."""
    every: dict[str, Arguments]
    """With all that it imports."""


def modules_in(wheel: Path) -> dict[str, Module]:
    """Return the modules of a release."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py") and name.startswith("nvflare/"):
                path = name.removesuffix(".py").removesuffix("/__init__")
                found[path.replace("/", ".")] = _module(
                    ast.parse(archive.read(name)), package=name.endswith("/__init__.py")
                )
    return found


def _module(tree: ast.Module, *, package: bool) -> Module:
    statements, module = list(tree.body), Module({}, {})
    for node in statements:  # which grows by what stands under a condition
        if isinstance(node, (ast.If, ast.Try)):
            statements += node.body + node.orelse
            statements += [one for handler in getattr(node, "handlers", ()) for one in handler.body]
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = dict.fromkeys(alias.asname or alias.name for alias in node.names)
            module.every.update(names)
            lends = (
                package
                and isinstance(node, ast.ImportFrom)
                and (node.level or "nvflare" in (node.module or ""))
            )
            module.own.update(names if lends else {})
        elif isinstance(node, ast.Assign):
            module.every.update({target.id: None for target in node.targets if isinstance(target, ast.Name)})
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            body = node.body if isinstance(node, ast.ClassDef) else []
            made = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
            called = node if isinstance(node, ast.FunctionDef) else next(iter(made), None)
            module.own[node.name] = _arguments(called) if called else None
    module.every.update(module.own)
    return module


def _arguments(function: ast.FunctionDef) -> Arguments:
    if function.args.kwarg:
        return None
    return tuple(one.arg for one in (*function.args.args, *function.args.kwonlyargs) if one.arg != "self")


def successor(lost: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """Return which argument took the place of ``lost``: the one new one that shares most of its words."""
    words = {*lost.split("_")}
    shares = {
        one: len(words & {*one.split("_")}) / len(words | {*one.split("_")}) for one in new if one not in old
    }
    best = sorted(shares, key=lambda one: -shares[one])[:2]
    clear = len(best) == 1 or (len(best) == 2 and shares[best[0]] > shares[best[1]])
    return best[0] if clear and shares[best[0]] else ""


def lost(old: dict[str, Module], new: dict[str, Module]) -> dict[str, str]:
    """Return what the newer release lacks, each with where it is now, or an empty text."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module, names in new.items():
        for name in names.own:
            homes[name].append(f"{module}.{name}")
    found = {}
    for module, names in old.items():
        if not _PUBLIC.match(module):
            continue
        if module not in new:
            found[module] = ""
        known = new.get(module, Module({}, {})).every
        for name, arguments in names.own.items():
            if name not in known and f"{module}.{name}" not in new:
                now = sorted(homes[name], key=len)
                found[f"{module}.{name}"] = now[0] if now else ""
            taken = known.get(name)
            if arguments is not None and taken is not None:
                gone = (one for one in arguments if one not in taken)
                found.update({f"{module}.{name}({one})": successor(one, arguments, taken) for one in gone})
    return found


def brought(old: dict[str, Module], new: dict[str, Module]) -> Iterator[str]:
    """Yield what the newer release has first; of a new module it alone, without its names."""
    for module, names in new.items():
        if not _PUBLIC.match(module):
            continue
        if module not in old:
            package = module.rpartition(".")[0]
            yield from () if package in new and package not in old else (module,)
            continue
        known = old[module].every
        for name, arguments in names.own.items():
            if name not in known and f"{module}.{name}" not in old:
                yield f"{module}.{name}"
            taken = known.get(name)
            if arguments is not None and taken is not None:
                yield from (f"{module}.{name}({one})" for one in arguments if one not in taken)


def has(release: dict[str, Module], key: str) -> bool:
    """Whether a release has what `lost` calls so."""
    dotted, _, argument = key.removesuffix(")").partition("(")
    module, _, name = dotted.rpartition(".")
    if dotted in release:
        return True
    names = release.get(module, Module({}, {})).every
    return name in names and (not argument or names[name] is None or argument in (names[name] or ()))


def main() -> None:
    """Compare each release with the one before it."""
    wheels = {Version(path.name.split("-")[1]): path for path in Path(sys.argv[1]).glob("nvflare-*.whl")}
    releases = [(str(version), modules_in(wheels[version])) for version in sorted(wheels)]
    gone: dict[str, list[str]] = {}
    came: dict[str, str] = {}
    for number, ((_, old), (since, new)) in enumerate(pairwise(releases), 1):
        for key, now in lost(old, new).items():
            if not any(has(later, key) for _, later in releases[number:]):
                gone[key] = [since, now]
        for key in brought(old, new):
            came.setdefault(key, since)
    head = f'"releases": {json.dumps([name for name, _ in releases])}'
    TARGET.write_text(f'{{{head},\n"gone": {_lines(gone)},\n"came": {_lines(came)}}}\n', encoding="utf-8")


def _lines(table: Mapping[str, object]) -> str:
    """Return a table in JSON, a line for each key."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(table[key])}" for key in sorted(table))
    return f"{{\n{lines}\n}}"


if __name__ == "__main__":
    main()
