# SPDX-License-Identifier: Apache-2.0
"""Breaks a copy of a recorded run, so that a test shows what was broken; packs one as a host does."""

import json
import re
from contextlib import contextmanager

from rekindle.host import archive
from rekindle.records import RunSpec, read_record, write_record


def edit(path, old, new, count=0):
    """Replace ``old`` by ``new`` in a file, in which it has to stand."""
    text = path.read_text()
    changed = re.sub(old, new, text, count=count)
    assert changed != text, f"nothing in {path} matches {old}"
    path.write_text(changed)


@contextmanager
def json_in(path):
    """Yield the content of a JSON file, and write it back as it was changed."""
    content = json.loads(path.read_text())
    yield content
    path.write_text(json.dumps(content))


def result_of(verdict, claim):
    """Return the result of one check."""
    return next(result for result in verdict.evidence if result.claim == claim)


def states_of(verdict):
    """Return the state of each check."""
    return {result.claim: result.state for result in verdict.evidence}


def each_event(file, change):
    """Return what puts every event of a run's file through ``change``, which alters it in place."""

    def altered(event):
        change(event)
        return event

    return lambda run: events(run / file, altered)


def replaced(file, old, new="", count=0):
    """Return what replaces a pattern in a run's file."""
    return lambda run: edit(run / file, old, new, count=count)


def removed(*names):
    """Return what removes files of a run."""
    return lambda run: [(run / name).unlink() for name in names]


def added(file, line):
    """Return what adds a line to a run's file."""

    def append(run):
        with (run / file).open("a") as stream:
            stream.write(f"{line}\n")

    return append


def lines_in(path):
    """Return the objects of a file that has one in each line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def put_lines(path, lines):
    """Write such a file."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def events(path, change):
    """Put every event of a file through ``change``; None drops it."""
    put_lines(path, [event for event in map(change, lines_in(path)) if event is not None])


def packed(run):
    """Return the archive of a run, beside it."""
    target = run.with_name(f"{run.name}.tar.gz")
    archive.pack_run(run, target)
    return target


def under(run, spec):
    """Have a recorded run be one of ``spec``: every line of its evidence repeats its nonce."""
    old = read_record(run / "spec.json", RunSpec).nonce
    for path in [*(run / "evidence").iterdir(), run / "samples.jsonl", run / "ended.json"]:
        path.write_text(path.read_text().replace(old, spec.nonce))
    write_record(run / "spec.json", spec)
