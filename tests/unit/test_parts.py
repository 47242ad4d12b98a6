# SPDX-License-Identifier: Apache-2.0
"""Each file of `make long` is in one part, and the parts take about as long as each other."""

import pytest
from runners.parts import SECONDS, TESTS, UNKNOWN_S, read_seconds, split_files


@pytest.mark.parametrize("parts", [1, 3, 5])
def test_each_file_is_in_one_part(parts):
    files = {"hosts/slow.py", "hosts/quick.py", "site/new.py", "lies/some.py"}
    split = split_files(files, parts, {"hosts/slow.py": 900, "hosts/quick.py": 5, "lies/some.py": 400})
    assert sorted(file for part in split for file in part) == sorted(files)
    assert len(split) == parts


def test_no_part_takes_longer_than_another_by_more_than_a_file():
    seconds = {f"{number}.py": number * number for number in range(30)}
    split = split_files({*seconds, "new.py"}, 5, seconds)
    took = [sum(seconds.get(file, UNKNOWN_S) for file in part) for part in split]
    assert max(took) - min(took) <= 29 * 29 / 4


def test_what_is_known_is_of_files_that_are_there():
    assert [file for file in read_seconds() if not (TESTS / file).exists()] == [], SECONDS
