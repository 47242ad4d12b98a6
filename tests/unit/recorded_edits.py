"""Breaks a copy of a recorded run, so that a test shows what was broken."""

import re


def edit(path, old, new, count=0):
    """Replace ``old`` by ``new`` in a file, in which it has to stand."""
    text = path.read_text()
    changed = re.sub(old, new, text, count=count)
    assert changed != text, f"nothing in {path} matches {old}"
    path.write_text(changed)
