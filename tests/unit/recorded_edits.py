"""Breaks a copy of a recorded run, so that a test shows what was broken; packs one as a host does."""

import json
import re

from rekindle.host import archive
from rekindle.records import RunSpec, read, write


def edit(path, old, new, count=0):
    """Replace ``old`` by ``new`` in a file, in which it has to stand."""
    text = path.read_text()
    changed = re.sub(old, new, text, count=count)
    assert changed != text, f"nothing in {path} matches {old}"
    path.write_text(changed)


def events(path, change):
    """Put every event of a file through ``change``; None drops it."""
    changed = [change(json.loads(line)) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(event) + "\n" for event in changed if event is not None))


def packed(run):
    """Return the archive of a run, beside it."""
    target = run.with_name(f"{run.name}.tar.gz")
    archive.pack(run, target)
    return target


def under(run, spec):
    """Have a recorded run of spec/2 be one of ``spec``: every line of its evidence repeats its nonce."""
    old = read(run / "spec.json", RunSpec).nonce
    for path in [*(run / "evidence").iterdir(), run / "samples.jsonl", run / "ended.json"]:
        path.write_text(path.read_text().replace(old, spec.nonce))
    write(run / "spec.json", spec)
