# SPDX-License-Identifier: Apache-2.0
"""Recorded runs in memory, to be altered and judged: only what changed is written, beside a full copy."""

import copy
import json
import shutil
from functools import cache
from pathlib import Path

from rekindle.judge import judge_run
from rekindle.records import RecordError

RECORDED = Path(__file__).parents[1] / "recordings"
RECORDINGS = {path.name: path for kind in ("runs", "examples") for path in (RECORDED / kind).iterdir()}
"""Folders of recorded runs, by name."""
clone = copy.deepcopy


class RunCopy:
    """One recorded run, whose events, records and logs are read on demand and altered in place."""

    def __init__(self, name):
        self.files = dict(_recorded(name))
        self._base = _recorded(name)
        self._read = {}
        """Of each file that was read its content: a table, a list of events or of lines; and how it was."""

    def _parsed(self, path, parse):
        if path not in self._read:
            self._read[path] = parse(self.files[path]), parse(self.files[path])
        return self._read[path][0]

    def record(self, path):
        """Return a record of one JSON object."""
        return self._parsed(path, json.loads)

    def events_of(self, path):
        """Return the events of a file."""
        return self._parsed(path, lambda content: [json.loads(line) for line in content.splitlines()])

    def text(self, path):
        """Return the lines of a text file."""
        return self._parsed(path, lambda content: content.decode().split("\n"))

    @property
    def spec(self):
        return self.record("spec.json")

    @property
    def ended(self):
        return self.record("ended.json")

    def log(self, member):
        """Return the lines of the log of ``server`` or a site."""
        return self.text(f"{self.workspace}/{member}/log.txt")

    @property
    def logs(self):
        """The lines of each log, and of what job.py printed."""
        return [*map(self.log, self.members), self.text("job.log")]

    @property
    def workspace(self):
        """Path of NVFlare's workspace."""
        return next(path for path in self.files if "/server/log.txt" in path).removesuffix("/server/log.txt")

    @property
    def sites(self):
        return [site["name"] for site in self.spec["sites"]]

    @property
    def members(self):
        return ["server", *self.sites]

    @property
    def evidence(self):
        """Names of the files with events."""
        return sorted(path for path in self.files if path.endswith(".jsonl"))

    def of(self, kind):
        """Return the events of a kind, of all files."""
        return [event for path in self.evidence for event in self.events_of(path) if event["event"] == kind]

    @property
    def every_event(self):
        return [event for path in self.evidence for event in self.events_of(path)]

    def without(self, *kinds):
        """Remove all events of these kinds."""
        for path in self.evidence:
            events = self.events_of(path)
            events[:] = [event for event in events if event["event"] not in kinds]

    def write(self, path, content):
        """Replace a file."""
        self._read.pop(path, None)
        self.files[path] = content

    def changes(self):
        """Return the content of every file that is not as it was recorded."""
        altered = {path: content for path, content in self.files.items() if content != self._base.get(path)}
        return altered | {path: _bytes(now) for path, (now, then) in self._read.items() if now != then}


def _bytes(content):
    if isinstance(content, dict):
        return json.dumps(content).encode()
    if content and isinstance(content[0], str):
        return "\n".join(content).encode()
    return "".join(json.dumps(event) + "\n" for event in content).encode()


@cache
def _recorded(name):
    folder = RECORDINGS[name]
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


class Bench:
    """A copy of each recorded run on disk, in which a change stands only while it is judged."""

    def __init__(self, folder):
        self._folder = folder

    def judge(self, name, changes):
        """Return the verdict on a run with these changes; None if it is refused as no run.

        Any other exception is a fault of the judge.
        """
        run, recorded = self._folder / name, _recorded(name)
        if not run.exists():
            shutil.copytree(RECORDINGS[name], run)
        try:
            for path, content in changes.items():
                (run / path).parent.mkdir(parents=True, exist_ok=True)
                (run / path).write_bytes(content)
            return judge_run(run)
        except RecordError:
            return None
        finally:
            for path in changes:
                if path in recorded:
                    (run / path).write_bytes(recorded[path])
                else:
                    (run / path).unlink()
