# SPDX-License-Identifier: Apache-2.0
"""Each file of `make long` is in one part, and the parts take about as long as each other."""

import pytest
from runners.parts import SECONDS, TESTS, UNKNOWN_S, look_up_seconds, read_seconds, split_files


@pytest.mark.parametrize("parts", [1, 3, 5])
def test_each_file_is_in_one_part(parts):
    took = {"hosts/slow.py": 900, "hosts/quick.py": 5, "lies/some.py": 400, "site/new.py": UNKNOWN_S}
    split = split_files(took, parts)
    assert sorted(file for part in split for file in part) == sorted(took)
    assert len(split) == parts


def test_no_part_takes_longer_than_another_by_more_than_a_file():
    seconds = {"new.py": UNKNOWN_S, **{f"{number}.py": number * number for number in range(30)}}
    took = [sum(seconds[file] for file in part) for part in split_files(seconds, 5)]
    assert max(took) - min(took) <= 29 * 29 / 4


def test_a_file_that_nobody_measured_has_seconds_too():
    measured = next(iter(read_seconds()))
    took = look_up_seconds({TESTS / measured, TESTS / "site/test_new.py"})
    assert took == {TESTS / measured: read_seconds()[measured], TESTS / "site/test_new.py": UNKNOWN_S}


def test_what_is_known_is_of_files_that_are_there():
    assert [file for file in read_seconds() if not (TESTS / file).exists()] == [], SECONDS
