# SPDX-License-Identifier: Apache-2.0
"""Every regular expression of ours, and texts that make a careless one take the square of their length."""

import ast
import importlib
import pkgutil
import re
import re._constants as ops
import re._parser as parser
from collections.abc import Iterator
from typing import NamedTuple

import rekindle
from rekindle.host import paths

_LONG = 200
"""Repetitions from which one counts as without a bound."""
_ELSEWHERE = (
    *("rekindle.trainer", "rekindle.environments.probes", "rekindle.environments.torchvision_on_cpu"),
    *("rekindle.fabric.measure", "rekindle.fabric.player", "rekindle.federation.bounds"),
)
"""Modules that need a framework."""
_ANCHORED = {"match", "fullmatch"}
_USES = {*_ANCHORED, "search", "sub", "split", "findall", "finditer"}


class Used(NamedTuple):
    """A pattern, and a method with which it is used."""

    pattern: str
    flags: int
    method: str
    where: str


def used() -> Iterator[Used]:
    """Yield each pattern that is written in our code, with the methods by which its file uses it."""
    sources = {
        f"rekindle.{name}": paths.find_collection() / "src/rekindle" / f"{name.replace('.', '/')}.py"
        for name in (module.name.removeprefix("rekindle.") for module in _modules())
    }
    for plugin in sorted((paths.find_collection() / "plugins").glob("*/*.py")):
        sources[str(plugin.stem)] = plugin
    for name, path in sources.items():
        source = path if path.exists() else path.with_suffix("") / "__init__.py"
        tree = ast.parse(source.read_text(encoding="utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        written = [(call, call.func.attr) for call in calls if isinstance(call.func, ast.Attribute)]
        for call, method in written:
            of = call.func.value
            direct = isinstance(of, ast.Name) and of.id == "re" and method != "compile"
            if direct and call.args and isinstance(call.args[0], ast.Constant):
                yield Used(call.args[0].value, _flags(call), method, f"{source.name}:{call.lineno}")
        if name.startswith("rekindle.") and not name.startswith(_ELSEWHERE) and not name.endswith("__main__"):
            values = vars(importlib.import_module(name))
            for constant, value in values.items():
                every = value.values() if isinstance(value, dict) else value
                every = every if isinstance(value, (dict, list, tuple)) else [value]
                patterns = [one for one in every if isinstance(one, re.Pattern)]
                for pattern in patterns if isinstance(patterns[:1] and patterns[0].pattern, str) else ():
                    for method in _methods(constant, tree):
                        yield Used(pattern.pattern, pattern.flags, method, f"{name}.{constant}")


def _modules() -> list[pkgutil.ModuleInfo]:
    return [
        module
        for module in pkgutil.walk_packages(rekindle.__path__, "rekindle.")
        if not module.name.startswith(_ELSEWHERE)
    ]


def _methods(constant: str, tree: ast.Module) -> set[str]:
    """Return how a file uses its constant, or else its patterns; as a search if it uses none itself."""
    by_name: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _USES:
            by_name.setdefault(node.value.id, set()).add(node.attr)
    others = {use for name, uses in by_name.items() if name.islower() and name != "re" for use in uses} - {
        "split"
    }
    return by_name.get(constant) or others or {"search"}


def _flags(call: ast.Call) -> int:
    names = [node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute)]
    return sum(getattr(re, name) for name in names if name.isupper())


def hostile(use: Used) -> Iterator[str]:
    """Yield what, repeated, begins a part of the pattern again and again and never ends it."""
    begun: list[tuple[str, str]] = []
    whole = _sample(parser.parse(use.pattern, use.flags), begun, "")
    yield from {whole, *(text for before, one in begun for text in (before, one, before + one))} - {""}


def _sample(parsed, begun, before):
    """Return a text that the pattern matches, nearly; note what precedes each long repetition."""
    text = before
    for op, value in parsed:
        if op is ops.LITERAL:
            text += chr(value)
        elif op is ops.NOT_LITERAL:
            text += "b" if value == ord("a") else "a"
        elif op is ops.IN:
            text += next(filter(lambda one: _among(ord(one), value), map(chr, _LIKELY)), "")
        elif op is ops.ANY:
            text += "0"
        elif op in {ops.MAX_REPEAT, ops.MIN_REPEAT}:
            least, most, part = value
            one = _sample(part, [], "")
            if most == ops.MAXREPEAT or most >= _LONG:
                begun.append((text, one))
            _sample(part, begun, text)
            text += one * least
        elif op is ops.SUBPATTERN:
            text = _sample(value[3], begun, text)
        elif op is ops.BRANCH:
            text = [_sample(branch, begun, text) for branch in value[1]].pop()
        elif op is ops.ASSERT:
            _sample(value[1], begun, text)
    return text


_LIKELY = [*map(ord, "0a- .x:/A=,[(_'\""), *range(256)]


def _among(code, items):
    one, found = chr(code), False
    kinds = {
        ops.CATEGORY_DIGIT: one.isdigit(),
        ops.CATEGORY_SPACE: one.isspace(),
        ops.CATEGORY_WORD: one.isalnum() or one == "_",
    }
    others = {ops.CATEGORY_NOT_DIGIT: ops.CATEGORY_DIGIT, ops.CATEGORY_NOT_SPACE: ops.CATEGORY_SPACE}
    others[ops.CATEGORY_NOT_WORD] = ops.CATEGORY_WORD
    for op, value in items:
        if op is ops.LITERAL:
            found |= value == code
        elif op is ops.RANGE:
            found |= value[0] <= code <= value[1]
        elif op is ops.CATEGORY:
            found |= not kinds[others[value]] if value in others else kinds[value]
    return found != any(op is ops.NEGATE for op, _ in items)


def apply(use: Used, text: str) -> None:
    """Use the pattern as our code does, on all of a text."""
    expression = re.compile(use.pattern, use.flags)
    if use.method in _ANCHORED:
        getattr(expression, use.method)(text)
    else:
        for _ in expression.finditer(text):
            pass
