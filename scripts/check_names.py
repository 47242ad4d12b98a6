#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the names of functions, classes and modules; ``make lint`` runs it.

A public function is a verb and its object, or begins with ``is``, ``has``, ``can`` or ``does``. A public name
means one thing in all rooms. A module is a noun: neither a participle nor a preposition; nor is a method,
unless it is a property.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

VERBS = frozenset(
    """
    adapt add adopt agree allow apply ask assign assume average begin bind bound bring broadcast build
    bundle can cancel change check choose clean climb colour compare convert correlate count cover cut decode
    describe
    diagnose digest discard does draw drop dump empty end erase escape estimate evaluate exec expand
    expect explain
    extract fail fetch fill find fingerprint fold follow forget foresee foretell format gather generalise
    generate give group guard has hasten hear hide hold identify install is join judge keep label leave limit
    link list load locate lock look make mask match measure meet merge move name normalise note notify open
    order pack parse pick place pour prepare print probe provide quote rank read reap receive record redirect
    refuse register reject remove render replace report require resolve run save seal search select send serve
    set share shift shorten sign sketch skip solve spawn split start stop strip submit suggest sum summarise
    supervise take tell time tune unescape unpack wait walk warn watch write
    """.split()  # noqa: SIM905
)
"""The first words of functions; add one only where none of these says it."""
OF_OTHERS = {
    "main": "a program of its own begins there",
    "run": "the command line calls it, in each of its verbs",
    "ActionModule": "Ansible loads it by this name, in each action",
    "LookupModule": "Ansible loads it by this name, in each lookup",
}
"""Names that others chose, with several places each."""
CLAIMS = ("register_check", "register_claim")
"""A function under one of these is named as its claim on a run is: a sentence."""
NO_NOUNS = frozenset(
    "about after around at before beside by for from in kept left lost made of on sent since".split()  # noqa: SIM905
)


def find_mistakes(root: Path) -> Iterator[str]:
    """Yield a line for each name below ``root`` that breaks a rule."""
    places = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        if _is_no_noun(path.stem.rpartition("_")[2]):
            yield f"{path}: a module is a noun; {path.stem} is none."
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")
                if isinstance(node, ast.FunctionDef) and not _is_claim(node) and node.name not in OF_OTHERS:
                    yield from _find_function_mistakes(node.name, places[node.name][-1])
            if isinstance(node, ast.ClassDef):
                yield from _find_method_mistakes(node, path)
    for name, known in places.items():
        if len(known) > 1 and name not in OF_OTHERS:
            yield f"{known[0]}: {name} has another meaning at {', '.join(known[1:])}."


def _find_function_mistakes(name: str, place: str) -> Iterator[str]:
    verb, _, what = name.partition("_")
    if verb not in VERBS:
        yield f"{place}: a function begins with a verb; {verb} of {name} is none of scripts/check_names.py."
    elif not what:
        yield f"{place}: a function has an object after its verb; {name} has none."


def _find_method_mistakes(of: ast.ClassDef, path: Path) -> Iterator[str]:
    for node in of.body:
        if not isinstance(node, ast.FunctionDef) or "_" in node.name or not _is_no_noun(node.name):
            continue
        if not any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield f"{path}:{node.lineno}: a method is a verb or a noun; {of.name}.{node.name} is neither."


def _is_no_noun(word: str) -> bool:
    return word in NO_NOUNS or word.endswith("ed")


def _is_claim(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CLAIMS
        for node in function.decorator_list
    )


def main() -> None:
    """Print the mistakes in each folder that the command line names."""
    mistakes = [line for root in sys.argv[1:] for line in find_mistakes(Path(root))]
    print("\n".join(mistakes), end="\n" if mistakes else "")
    sys.exit(1 if mistakes else 0)


if __name__ == "__main__":
    main()
