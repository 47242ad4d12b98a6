# SPDX-License-Identifier: Apache-2.0
"""Each rule on names, broken once; and our own names, which ``make lint`` reads too."""

import importlib.util
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def check(tmp_path):
    """Return what checks files, given as their texts by path."""
    spec = importlib.util.spec_from_file_location("check_names", REPOSITORY / "scripts/check_names.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def run(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        return [line.replace(f"{tmp_path}/", "") for line in module.find_mistakes(tmp_path)]

    return run


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("def figures(): ...", "a function begins with a verb; figures of figures is none"),
        ("def within_limits(): ...", "a function begins with a verb; within of within_limits is none"),
        ("def judge(): ...", "a function has an object after its verb; judge has none"),
    ],
)
def test_a_function_is_a_verb_and_its_object(check, text, mistake):
    (line,) = check(room=text)
    assert line.startswith(f"room.py:1: {mistake}")


def test_a_claim_on_a_run_is_a_sentence(check):
    assert check(room='@register_check(holds="It is so.")\ndef all_rounds_ran(run): ...') == []


def test_a_name_has_one_meaning_in_all_rooms(check):
    mistakes = check(one="class Line: ...\ndef main(): ...", two="class Line: ...\ndef main(): ...")
    assert mistakes == ["one.py:1: Line has another meaning at two.py:1."]


@pytest.mark.parametrize("name", ["compared", "left", "of_jobs_since"])
def test_a_module_is_a_noun(check, name):
    assert check(**{name: ""}) == [f"{name}.py: a module is a noun; {name} is none."]


def test_a_method_is_no_participle_unless_it_is_a_property(check):
    text = "class Run:\n    def {}(self): ...\n    @property\n    def judged(self): ..."
    (line,) = check(room=text.format("collected"))
    assert line == "room.py:2: a method is a verb or a noun; Run.collected is neither."
    assert check(room=text.format("collect")) == []
