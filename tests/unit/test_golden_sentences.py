# SPDX-License-Identifier: Apache-2.0
"""The sentences of tests/golden: each belongs to a test, and each verdict's is one literal of the source."""

import ast
import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
GOLDEN = sorted((REPOSITORY / "tests/golden").glob("*.json"))
_LEAST, _SHORT = 20, 8
"""Characters of a literal that one can search for, and of one that is all of a sentence but its values."""
_EACH = re.compile(r"; (?=GPU-|site-\d)")
"""Between the same of several GPUs, or several sites."""

_READING = re.compile(r"^GPU(?: \d+ \(\S+\): \w+ (?:is|was) |-[\w-]+: \S+ \d+ MiB and )")
"""Figures of an acceptance or of a site's use of GPUs, which have a form of their own."""


def _literals():
    """Return the literals of the source that are long enough, each with the places where it is."""
    found = defaultdict(set)
    for path in (REPOSITORY / "src/rekindle").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                parts = [node.value]
            else:
                continue
            if sum(len(part) for part in parts if part) >= _SHORT:
                place = f"{path.relative_to(REPOSITORY)}:{node.lineno}"
                found["".join(".*" if part is None else re.escape(part) for part in parts)].add(place)
    for path in (REPOSITORY / "src/rekindle").rglob("*.json"):
        for word in re.findall(r'"(?:[^"\\]|\\.)*"', path.read_text(encoding="utf-8")):
            text = re.sub(r"\{\w+\}", "\0", json.loads(word))
            if len(text) >= _LEAST:
                found[re.escape(text).replace("\0", ".*")].add(path.name)
    return {re.compile(pattern, re.DOTALL): places for pattern, places in found.items()}


@cache
def _is_long(pattern):
    return len(re.sub(r"\.\*|\\", "", pattern.pattern)) >= _LEAST


def _is_of(sentence, pattern):
    if _is_long(pattern):
        return pattern.search(sentence)
    return pattern.fullmatch(sentence) or pattern.fullmatch(f"{sentence}.")


def _find_places(parts, literals):
    """Yield where each literal stands that is one of a sentence's parts."""
    for pattern, places in literals.items():
        if any(_is_of(part, pattern) for part in parts):
            yield places


def _verdicts():
    known = json.loads((REPOSITORY / "tests/golden/judge.json").read_text(encoding="utf-8"))
    every = {sentence for sentences in known.values() for sentence in sentences}
    return sorted(text for text in every if text.endswith(".") and not _READING.search(text))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_each_golden_sentence_is_of_a_test(path, request):
    if request.config.option.keyword or any("::" in word for word in request.config.args):
        pytest.skip("Not all tests of each file were collected.")
    items = [item for item in request.session.items if item.path.parent.name == path.stem]
    files = {item.path.stem for item in items}
    keys = {key for key in json.loads(path.read_text(encoding="utf-8")) if key.split()[0] in files}
    assert keys <= {f"{item.path.stem} {item.name}" for item in items}


def test_each_sentence_of_a_verdict_is_one_literal_in_one_place():
    literals = _literals()
    spread = {}
    for sentence in _verdicts():
        parts = _EACH.split(sentence)
        if all(len(places) > 1 for places in _find_places(parts, literals)):
            spread[sentence] = [*_find_places(parts, literals)]
    assert not spread
