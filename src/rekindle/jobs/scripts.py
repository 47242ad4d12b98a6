# SPDX-License-Identifier: Apache-2.0
"""What a job's script says without being run: its calls, its imports and its options, by its syntax."""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from rekindle.trainer.sites import make_parser

_PARSERS = frozenset({"ArgumentParser", "make_parser"})
_LEAVES_OPEN = frozenset({"parse_known_args", "parse_known_intermixed_args", "add_subparsers"})


class SourceValue(NamedTuple):
    """A value, and where it stands."""

    value: Any
    at: str
    """``job.py:12``, or the name of a configuration."""
    option: str = ""
    """The option of the script whose default it is."""


class ScriptOption(NamedTuple):
    """An option or an argument, as a script adds it to a parser."""

    flags: tuple[Any, ...]
    """``--data`` and such; the name of an argument alone; None for one that is not literal."""
    words: dict[str | None, ast.expr]
    at: str

    @property
    def is_required(self) -> bool:
        """Whether the script cannot do without it, as far as its words are literal."""
        words = {name: getattr(value, "value", "*") for name, value in self.words.items()}
        if str(self.flags[0]).startswith("-"):
            return words.get("required") is True
        return words.get("nargs", 1) not in {"?", "*"}


class ScriptImport(NamedTuple):
    """A module that a script imports, or a name of it."""

    module: str
    name: str
    at: str
    optional: bool
    """Whether the script goes on without it."""


class ScriptCall(NamedTuple):
    """A call in a script."""

    name: str
    arguments: list[ast.expr]
    """Those without a keyword."""
    keywords: dict[str, ast.expr]
    at: str
    script: "Script"


@dataclass(frozen=True)
class Script:
    """A file of Python."""

    name: str
    text: str
    tree: ast.Module

    def describe_place(self, node: ast.AST) -> str:
        """Return where ``node`` stands."""
        return f"{self.name}:{getattr(node, 'lineno', 1)}"

    @cached_property
    def calls(self) -> list[ScriptCall]:
        """Every call of a function by its name, in the order of their lines."""
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        calls.sort(key=lambda call: (call.lineno, call.col_offset))
        return [
            ScriptCall(
                take_last_name(call.func),
                call.args,
                {word.arg: word.value for word in call.keywords if word.arg},
                self.describe_place(call),
                self,
            )
            for call in calls
        ]

    @property
    def texts(self) -> Iterator[SourceValue]:
        """Every text that is written in it."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield SourceValue(node.value, self.describe_place(node))

    @cached_property
    def imports(self) -> list[ScriptImport]:
        """Every import of a module from elsewhere."""
        optional = {
            id(node)
            for tried in ast.walk(self.tree)
            if isinstance(tried, ast.Try) and tried.handlers
            for part in tried.body
            for node in ast.walk(part)
        }
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [
                    ScriptImport(alias.name, "", self.describe_place(node), id(node) in optional)
                    for alias in node.names
                ]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found += [
                    ScriptImport(node.module, alias.name, self.describe_place(node), id(node) in optional)
                    for alias in node.names
                ]
        return found

    @cached_property
    def classes(self) -> dict[str, dict[str, ast.expr | None]]:
        """Each class that it makes: the names of its parameters without ``self``, and their defaults."""
        found: dict[str, dict[str, ast.expr | None]] = {}
        for node in (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)):
            found[node.name] = {}
            for made in node.body:
                if isinstance(made, ast.FunctionDef) and made.name == "__init__":
                    found[node.name] = dict(_parameters(made.args)[1:])
        return found

    def find_assigned(self, name: str) -> ast.expr | None:
        """Return what ``name`` is, where that is written once: by an assignment, or a parameter's default."""
        found: list[ast.expr] = []
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                found += [value for target, value in _pairs(node) if take_last_name(target) == name]
            elif isinstance(node, ast.arguments):
                found += [value for one, value in _parameters(node) if one == name and value]
        return found[0] if len(found) == 1 else None

    def find_set(self, name: str) -> list[ast.expr]:
        """Return what is assigned to the attribute ``name`` of something else than ``self``."""
        assigned = (node for node in ast.walk(self.tree) if isinstance(node, ast.Assign))
        return [
            value
            for to, value in itertools.chain.from_iterable(map(_pairs, assigned))
            if isinstance(to, ast.Attribute) and to.attr == name and take_last_name(to.value) != "self"
        ]

    def find_loops(self, callee: str, argument: str = "", place: int = 0) -> list[ast.expr]:
        """Return over what each loop goes that calls ``callee``.

        Args:
            callee: last part of its name.
            argument: one that the call has, by this name or at its ``place``, but no attribute, as a tensor's
                ``to`` has (``torch.float32``); empty if any call counts.
            place: 0 for the first.
        """
        found = []
        for loop in (node for node in ast.walk(self.tree) if isinstance(node, ast.For)):
            calls = (node for node in ast.walk(loop) if isinstance(node, ast.Call))
            named = [call for call in calls if take_last_name(call.func) == callee]
            given = [value for call in named for value in call.args[place : place + 1]]
            given += [word.value for call in named for word in call.keywords if word.arg == argument]
            if any(not isinstance(value, ast.Attribute) for value in given) if argument else named:
                found.append(loop.iter)
        return found

    @cached_property
    def options(self) -> frozenset[str] | None:
        """The options of its one parser, without ``--``; None where only running it would show all of them.

        The parser is made by ``ArgumentParser()`` or our ``make_parser()``, and is passed to no function.
        """
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        made = [call for call in calls if take_last_name(call.func) in _PARSERS]
        kept = [node for node in ast.walk(self.tree) if isinstance(node, ast.Assign) and node.value in made]
        names = {take_last_name(target) for node in kept for target in node.targets}
        passed = [value for call in calls for value in (*call.args, *(word.value for word in call.keywords))]
        elsewhere = any(value in made or take_last_name(value) in names for value in passed)
        flags = [flag for option in self._added for flag in option.flags]
        inherits = any(word.arg in {"parents", None} for call in made for word in call.keywords)
        opens = any(
            take_last_name(call.func) in _LEAVES_OPEN
            or (take_last_name(call.func) == "parse_args" and (call.args or call.keywords))
            for call in calls
        )
        if (
            len(made) != 1
            or elsewhere
            or inherits
            or opens
            or not all(isinstance(flag, str) for flag in flags)
        ):
            return None
        ours = make_parser().format_usage() if take_last_name(made[0].func) == "make_parser" else ""
        named = [flag for flag in flags if isinstance(flag, str) and flag.startswith("--")]
        return frozenset(flag[2:] for flag in (*re.findall(r"--\w+", ours), *named))

    @cached_property
    def _added(self) -> list[ScriptOption]:
        """What is added to parsers."""
        calls = (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return [
            ScriptOption(
                tuple(getattr(flag, "value", None) for flag in call.args),
                {word.arg: word.value for word in call.keywords},
                self.describe_place(call),
            )
            for call in calls
            if take_last_name(call.func) == "add_argument"
        ]

    def find_required(self) -> Iterator[ScriptOption]:
        """Yield what its one parser requires; nothing where only running it would show that."""
        for option in self._added if self.options is not None else ():
            if option.flags and option.is_required:
                yield option

    def option(self, name: str) -> tuple[str, ast.expr | None] | None:
        """Return the option that argparse keeps as ``name``, with its default."""
        for option in self._added:
            named = [str(flag) for flag in option.flags if str(flag).startswith("--")]
            dest = option.words.get("dest")
            kept = dest.value if isinstance(dest, ast.Constant) else None
            if named and name == (kept or named[0].lstrip("-").replace("-", "_")):
                return named[0], option.words.get("default")
        return None


def _parameters(node: ast.arguments) -> list[tuple[str, ast.expr | None]]:
    """Return each parameter in their order, with its default."""
    placed = [*node.posonlyargs, *node.args]
    defaults = [*[None] * (len(placed) - len(node.defaults)), *node.defaults]
    both = (*zip(placed, defaults, strict=True), *zip(node.kwonlyargs, node.kw_defaults, strict=True))
    return [(one.arg, value) for one, value in both]


def _pairs(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target of an assignment with its value; ``a, b = 2, 3`` has two."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif node.value:
            yield target, node.value


def take_last_name(node: ast.AST | None) -> str:
    """Return the name that an expression ends with; nothing for one that is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
