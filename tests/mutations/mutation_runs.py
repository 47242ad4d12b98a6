"""Recorded runs in memory, to be altered and judged: only what changed is written, beside a whole copy."""

import copy
import json
import shutil
from functools import cache
from pathlib import Path

from rekindle.judge import judge
from rekindle.records import RecordError

RECORDED = Path(__file__).parents[1] / "recordings"
RECORDINGS = {path.name: path for kind in ("runs", "examples") for path in (RECORDED / kind).iterdir()}
"""Folders of recorded runs, by name."""


class Inapplicable(Exception):
    """This run has nothing that the mutation could alter."""


class RunCopy:
    """One recorded run, whose events, records and logs are read when asked for and altered in place."""

    def __init__(self, name):
        self.name = name
        self._base = _recorded(name)
        self.files = dict(self._base)
        self._json = {}
        self._events = {}
        self._logs = {}

    def record(self, path):
        """Return a record of one JSON object, as a dictionary to alter."""
        if path not in self._json:
            self._json[path] = json.loads(self.files[path])
        return self._json[path]

    @property
    def spec(self):
        return self.record("spec.json")

    @property
    def ended(self):
        return self.record("ended.json")

    def events_of(self, path):
        """Return the events of a file as dictionaries; a string among them is written as it is."""
        if path not in self._events:
            if path not in self.files:
                raise Inapplicable
            self._events[path] = [json.loads(line) for line in self.files[path].splitlines()]
        return self._events[path]

    def log(self, member):
        """Return the lines of the log of ``server`` or a site, a list to alter."""
        return self.text(f"{self.workspace}/{member}/log.txt")

    def text(self, path):
        """Return the lines of a text file, a list to alter."""
        if path not in self._logs:
            self._logs[path] = self.files[path].decode().split("\n")
        return self._logs[path]

    @property
    def of_example(self):
        """Whether it has no evidence of trainers."""
        return json.loads(self._base["spec.json"])["schema"] == "rekindle/spec/3"

    @property
    def workspace(self):
        """Path of NVFlare's workspace."""
        return next(path for path in self.files if "/server/log.txt" in path).removesuffix("/server/log.txt")

    @property
    def members(self):
        return ["server", *self.sites]

    @property
    def sites(self):
        return [site["name"] for site in self.spec["sites"]]

    @property
    def gpus(self):
        return sorted({uuid for site in self.spec["sites"] for uuid in site["gpus"]})

    def ranks(self, site):
        return next(entry["ranks"] for entry in self.spec["sites"] if entry["name"] == site)

    @property
    def evidence(self):
        """Names of the files in evidence/."""
        return sorted(path for path in {*self.files, *self._events} if path.startswith("evidence/"))

    def of(self, kind, **where):
        """Return the events of a kind, of all files, with such fields."""
        samples = [path for path in ("samples.jsonl",) if path in self.files]
        return [
            event
            for path in (samples if kind == "sample" else self.evidence)
            for event in self.events_of(path)
            if isinstance(event, dict)
            and event.get("event") == kind
            and all(event.get(name) == value for name, value in where.items())
        ]

    @property
    def final(self):
        """The event of the final model; examples tell none."""
        found = self.of("final")
        if not found:
            raise Inapplicable
        return found[0]

    def file_of(self, event):
        """Return the list of events in which this very one stands."""
        return next(
            events
            for path in ("samples.jsonl", *self.evidence)
            if path in self.files or path in self._events
            for events in [self.events_of(path)]
            if any(other is event for other in events)
        )

    def rename(self, path, other):
        self.files[other] = self._bytes(path)
        self.remove(path)

    def remove(self, path):
        self.files.pop(path, None)
        for parsed in (self._json, self._events, self._logs):
            parsed.pop(path, None)

    def add_events(self, path, events):
        self._events[path] = list(events)

    def write(self, path, content):
        """Replace a whole file."""
        for parsed in (self._json, self._events, self._logs):
            parsed.pop(path, None)
        self.files[path] = content

    def copy_of(self, name):
        """Return another recorded run, unaltered."""
        return RunCopy(name)

    def _bytes(self, path):
        if path in self._json:
            return (json.dumps(self._json[path], indent=2) + "\n").encode()
        if path in self._events:
            return "".join(_line(event) for event in self._events[path]).encode()
        if path in self._logs:
            return "\n".join(self._logs[path]).encode()
        return self.files[path]

    def _told(self, path):
        """Return what the file says, so that another spelling of the same is no change."""
        if path in self._json:
            return self._json[path], json.loads(self._base.get(path, b"null"))
        if path in self._events and path in self._base:
            return self._events[path], [json.loads(line) for line in self._base[path].splitlines()]
        return self._bytes(path), self._base.get(path)

    def changes(self):
        """Return the content of every file that is not as it was recorded; None for one that is gone."""
        names = {*self.files, *self._json, *self._events, *self._logs}
        altered = {}
        for path in sorted(names):
            now, then = self._told(path)
            if now != then:
                altered[path] = self._bytes(path)
        return altered | {path: None for path in self._base if path not in names}


def _line(event):
    return (event if isinstance(event, str) else json.dumps(event)) + "\n"


@cache
def _recorded(name):
    folder = RECORDINGS[name]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def recordings():
    """Return the names of all recorded runs."""
    return sorted(RECORDINGS)


class Bench:
    """A copy of each recorded run on disk, in which a change stands only while it is judged."""

    def __init__(self, folder):
        self._folder = folder

    def judge(self, name, changes):
        """Return the verdict on a run with these changes, its cause, and what rules and claims do not hold.

        ``REFUSED`` is a folder that is no run; any other exception is a fault of the judge and is raised.
        """
        run = self._folder / name
        if not run.exists():
            shutil.copytree(RECORDINGS[name], run)
        made = []
        try:
            for path, content in changes.items():
                place = run / path
                if content is None:
                    place.unlink()
                    continue
                made += [parent for parent in place.parents if not parent.exists()]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            verdict = judge(run)
        except RecordError as error:
            return "REFUSED", str(error), []
        finally:
            for path in changes:
                if path in _recorded(name):
                    (run / path).write_bytes(_recorded(name)[path])
                else:
                    (run / path).unlink(missing_ok=True)
            for folder in made:
                shutil.rmtree(folder, ignore_errors=True)
        broken = [result.claim for result in verdict.evidence if not result.holds]
        return verdict.verdict, verdict.cause or "", broken


def clone(value):
    """Return a copy that shares nothing."""
    return copy.deepcopy(value)
