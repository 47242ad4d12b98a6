# SPDX-License-Identifier: Apache-2.0
"""For each entry of the doctor's catalogue the log that it is of, and what looks alike and is no failure."""

import json
from pathlib import Path
from typing import NamedTuple


class Excerpt(NamedTuple):
    """What an entry is tried on."""

    excerpt: str
    """Lines of a real log."""
    twin: str = ""
    """What a good run prints and looks alike."""
    unconfirmed: str = ""
    """Why no command shows that the cause is real."""


EXCERPTS = {
    name: Excerpt(**of)
    for name, of in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8")).items()
}
