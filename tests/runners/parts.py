# SPDX-License-Identifier: Apache-2.0
"""Parts of `make long` that take about as long as each other, by the seconds that each file took."""

import json
from pathlib import Path

TESTS = Path(__file__).parents[1]
SECONDS = TESTS / "seconds.json"
UNKNOWN_S = 60
"""Of a file that nobody has measured yet."""


def split_files(took, parts):
    """Return the files of each of so many parts: the slowest first, each where least is to be done.

    Args:
        took: seconds of each file.
        parts: how many there are.
    """
    split = [set() for _ in range(parts)]
    sums = [0] * parts
    for file, seconds in sorted(took.items(), key=lambda one: (-one[1], one[0])):
        least = sums.index(min(sums))
        split[least].add(file)
        sums[least] += seconds
    return split


def read_seconds():
    """Return how long each file took with its fixtures, by its path from `tests/`."""
    return json.loads(SECONDS.read_text())


def look_up_seconds(paths):
    """Return how long each of these files took, or may take."""
    known = read_seconds()
    return {path: known.get(str(path.relative_to(TESTS)), UNKNOWN_S) for path in paths}


def write_seconds(reports):
    """Keep how long the files of these reports took; of others it stays, where they are still there."""
    took = {}
    for report in reports:
        file = report.nodeid.partition("::")[0].removeprefix("tests/")
        took[file] = took.get(file, 0.0) + report.duration
    known = {**read_seconds(), **{file: round(seconds) for file, seconds in took.items()}}
    there = {file: seconds for file, seconds in sorted(known.items()) if (TESTS / file).exists()}
    SECONDS.write_text(json.dumps(there, indent=2) + "\n")
