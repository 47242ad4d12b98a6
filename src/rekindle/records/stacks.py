# SPDX-License-Identifier: Apache-2.0
"""The stacks in a run's autopsy, as py-spy prints them: a part for each process."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_PROCESS = re.compile(r"^Process (\d{1,10}): ", re.MULTILINE)


class Stacks(NamedTuple):
    """The stacks of one process."""

    pid: str
    start: int
    """Where its part begins in the text."""
    text: str
    """Its part, with its command line."""


def find_stacks(text: str) -> Iterator[Stacks]:
    """Yield the stacks of each process in a file of the autopsy."""
    starts = [*_PROCESS.finditer(text)]
    ends = [*(match.start() for match in starts[1:]), len(text)]
    for match, end in zip(starts, ends, strict=False):
        yield Stacks(match[1], match.start(), text[match.start() : end])
