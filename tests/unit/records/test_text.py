# SPDX-License-Identifier: Apache-2.0
"""Text that came from a host is made harmless in a time that has a bound, whatever it is."""

import re
import sys
import time

import pytest

from rekindle.records import text

_MILLION = 1_000_000
_LIMIT_S = 2.0
"""For a million characters; a tenth of those that all take the same way shows what is not linear, too."""
FORBIDDEN = [chr(code) for code in range(sys.maxunicode + 1) if text._FORBIDDEN.match(chr(code))]
BEGUN = [
    "\x1b]",
    "\x9d",
    "\x1b[",
    "\x9b",
    "\x1b[0",
    "\x1b]\x9d",
    "\x9b0",
    "\x1b[0m",
    "a\x9d",
    "\x9d\x9b",
    " ",
    "\t",
]
"""What begins a sequence, and what a line is joined at."""
CHANGES = {
    "clean_text": text.clean_text,
    "clean_text, all of it": lambda value: text.clean_text(value, len(value)),
    "fold_line": text.fold_line,
    "clean_for_terminal": lambda value: text.clean_for_terminal(value, colour=False),
    "clean_for_terminal in colour": lambda value: text.clean_for_terminal(value, colour=True),
    "clean_line": text.clean_line,
    "shorten_text": text.shorten_text,
    "find_last_line": text.find_last_line,
    "format_json": text.format_json,
    "list_few": lambda value: text.list_few([value]),
    "change_texts": lambda value: text.change_texts({value: [value]}, text.clean_text),
}


def test_every_function_of_the_module_is_among_these():
    functions = {name for name, of in vars(text).items() if getattr(of, "__module__", "") == text.__name__}
    assert functions - {"format_duration"} == {name.partition(" ")[0].rstrip(",") for name in CHANGES}


@pytest.mark.parametrize("change", CHANGES)
def test_a_million_of_any_forbidden_character_take_no_time(change):
    others = [one for one in FORBIDDEN if not "\ud800" <= one <= "\udfff"] + ["\ud800", "\udfff"]
    for unit, part in [*((unit, 1) for unit in BEGUN), *((unit, 10) for unit in others)]:
        began = time.process_time()
        CHANGES[change](unit * (_MILLION // part // len(unit)))
        assert time.process_time() - began < _LIMIT_S / part, unit.encode("unicode_escape")


@pytest.mark.parametrize("change", ["clean_text", "fold_line", "clean_for_terminal", "clean_line"])
def test_no_forbidden_character_is_left(change):
    every = "".join(FORBIDDEN)
    made = CHANGES[change](f"a{every}b")
    assert re.fullmatch(r"ab", made), made.encode("unicode_escape")


def test_sequences_leave_nothing():
    titled = "\x1b]0;title\x07a\x9d0;title\x9cb\x1b[31mc\x9b0md\x1b]8;;http://x\x1b\\e"
    assert text.clean_text(titled) == "abcde"


def test_a_text_is_cut_before_it_is_cleaned():
    long = "begin " + "\x9d" * 10 * _MILLION + " end"
    for cut in (
        text.clean_text(long, 100),
        text.clean_text(long),
        text.fold_line(long),
        text.clean_line(long),
    ):
        assert cut.startswith("begin")
        assert cut.endswith("end")
        assert len(cut) < 20
    assert len(text.clean_for_terminal("x" * 10 * _MILLION, colour=True)) <= 1 << 20
