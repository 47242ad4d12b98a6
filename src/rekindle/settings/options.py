# SPDX-License-Identifier: Apache-2.0
"""The options of a job's job.py, read from its code, as running it needs a framework."""

import ast
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rekindle.trainer import sites

_PARSERS = {"job_options", "ArgumentParser"}
_LEAVES_OPEN = {"parse_known_args", "parse_known_intermixed_args", "add_subparsers"}
_FLAGS = {"store_true", "store_false", "store_const", "count", "BooleanOptionalAction"}


class Option(NamedTuple):
    """What an option takes."""

    shape: Literal["one", "many", "flag", "any"] = "one"
    kind: str = ""
    """``int`` or ``float``; any other takes every text."""
    choices: tuple[Any, ...] = ()
    """Empty if any value will do, or if the choices cannot be read."""


def parser_options(job_py: Path) -> dict[str, Option] | None:
    """Return the options by name, without ``--``; None where only running job.py would show all of them.

    It is not None if job.py makes one parser, by ``job_options()`` or ``ArgumentParser()``, passes it to no
    function, and adds each option with a literal name.
    """
    try:
        tree = ast.parse(job_py.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    made = [call for call in calls if _called(call) in _PARSERS]
    if len(made) != 1 or not _closed(tree, calls, made[0]):
        return None
    own = _called(made[0]) == "ArgumentParser"
    by_name = {} if own else dict(parser_options(Path(sites.__file__)) or {})
    for call in (call for call in calls if _called(call) == "add_argument"):
        names = [argument.value if isinstance(argument, ast.Constant) else None for argument in call.args]
        if not names or not all(isinstance(name, str) for name in names):
            return None
        option = _option(call, tree, job_py.parent)
        by_name |= {str(name)[2:]: option for name in names if str(name).startswith("--")}
    return by_name


def _called(call: ast.Call) -> str:
    return _name(call.func)


def _name(node: ast.AST | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _closed(tree: ast.AST, calls: list[ast.Call], made: ast.Call) -> bool:
    """Return whether no option can come from elsewhere."""
    names = {
        _name(target)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and node.value is made
        for target in node.targets
    }
    given = [argument for call in calls for argument in (*call.args, *(word.value for word in call.keywords))]
    handed_on = any(isinstance(argument, ast.Name) and argument.id in names for argument in given)
    parents = any(word.arg in {"parents", None} for word in made.keywords)
    return not (handed_on or parents or made in given or any(_called(call) in _LEAVES_OPEN for call in calls))


def _option(call: ast.Call, tree: ast.Module, folder: Path) -> Option:
    words = {word.arg: word.value for word in call.keywords}
    action, nargs = _name(words.get("action")), words.get("nargs")
    if None in words or (action and action not in _FLAGS | {"store"}):
        return Option("any")
    if action in _FLAGS:
        return Option("flag")
    many = isinstance(nargs, ast.Constant) and (nargs.value in {"*", "+"} or isinstance(nargs.value, int))
    shape: Literal["one", "many", "any"] = "one" if nargs is None else "many" if many else "any"
    return Option(shape, _name(words.get("type")), _choices(words.get("choices"), tree, folder))


def _choices(node: ast.expr | None, tree: ast.Module, folder: Path) -> tuple[Any, ...]:
    """Return the choices in ``node``, which may be a name from here or from a file beside this one."""
    if isinstance(node, ast.Name):
        node = _assigned(node.id, tree) or _imported(node.id, tree, folder)
    try:
        if isinstance(node, ast.Dict):
            return tuple(ast.literal_eval(key) for key in node.keys if key)
        return tuple(ast.literal_eval(node)) if node else ()
    except (ValueError, TypeError):
        return ()


def _assigned(name: str, tree: ast.Module) -> ast.expr | None:
    assignments = (
        node for node in tree.body if isinstance(node, ast.Assign) and name in map(_name, node.targets)
    )
    return next((assignment.value for assignment in assignments), None)


def _imported(name: str, tree: ast.Module, folder: Path) -> ast.expr | None:
    """Return the value of ``name`` in the file of ``folder`` that it is imported from."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            try:
                return _assigned(name, ast.parse((folder / f"{node.module}.py").read_bytes()))
            except (OSError, SyntaxError, ValueError):
                return None
    return None
