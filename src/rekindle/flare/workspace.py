# SPDX-License-Identifier: Apache-2.0
"""NVFlare's files: the simulator's workspace, and one job of a POC."""

import errno
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from rekindle.host import files, folders
from rekindle.records import RecordError
from rekindle.records.base import require_folder
from rekindle.records.evidence import describe_unread

LOG = "log.txt"
ERROR_LOGS = ("log_error.txt", "error_log.txt")
"""The errors of `LOG`: up to NVFlare 2.7, and from 2.8 on."""
SHOWN = "log_fl.txt"
"""The lines of a log that its console shows; not there if it shows none."""
PARTS = (*ERROR_LOGS, SHOWN)
"""Logs all of whose lines are also in `LOG`."""
SERVER = "server"
"""The server's folder; a site's has its name."""
_WORKSPACES = f"{folders.WORKSPACE}/*"
MEMBERS = f"{_WORKSPACES}/*"
"""Folders of the simulator's server and sites, below the folder of job.py."""
_MOST_LINES = 1_000_000
"""Of a log: its files have 20 MiB each, and no line of NVFlare's is as short as 20 bytes."""
LOGS = f"{folders.JOB}/{MEMBERS}/{LOG}"
ALL_LOGS = f"{folders.JOB}/{MEMBERS}/*log*.txt"
_OF_APP = re.compile(r"(?:^|/)app_[^/]+/[^/]+$")
"""Where a site's persistor saves the global model in swarm learning."""
MODELS = (".pt", ".pth", ".npy", ".npz", ".h5", ".keras", ".ckpt", ".safetensors", ".bin", ".pkl", ".joblib")


@dataclass(frozen=True)
class LogLine:
    """A line of a log, and the match in it."""

    match: re.Match[str]
    file: str
    line: int


class Member:
    """The files of the server or of one site: a folder, or the archive that a POC's job store keeps."""

    def __init__(self, path: Path) -> None:
        """Take the folder or the archive."""
        self._path = path
        self._archived = path.is_file()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Bytes of every file by its name in there; nothing in an archive that is damaged."""
        if not self._archived:
            paths = files.list_files(self._path, "**/*")
            found = sorted(path for path in paths if path.is_file() and not path.is_symlink())
            return {path.relative_to(self._path).as_posix(): path.lstat().st_size for path in found}
        try:
            with files.open_file(self._path) as packed, zipfile.ZipFile(packed) as archive:
                return {entry.filename: entry.file_size for entry in archive.infolist() if not entry.is_dir()}
        except (OSError, zipfile.BadZipFile):
            return {}

    @property
    def error_logs(self) -> list[str]:
        """Names of its error logs: one, by NVFlare's release."""
        return [name for name in ERROR_LOGS if name in self.sizes]

    def path(self, name: str) -> Path:
        """Return the file that holds ``name``: itself, or the archive."""
        return self._path if self._archived else self._path / name

    def read(self, name: str) -> bytes | None:
        """Return the content of ``name``; None if it is not there or damaged."""
        try:
            if not self._archived:
                return files.read_content(self._path / name)
            with files.open_file(self._path) as packed, zipfile.ZipFile(packed) as archive:
                with archive.open(name) as stream:
                    found = stream.read(files.LIMIT + 1)
                return found if len(found) <= files.LIMIT else None
        except (OSError, KeyError, zipfile.BadZipFile, zlib.error, EOFError):
            return None

    def open(self, name: str) -> BinaryIO:
        """Open the file ``name``; of an archive's, as much as is read at once.

        Raises:
            OSError: it is no regular file, damaged, or too large to be read from an archive.
        """
        if not self._archived:
            return files.open_file(self._path / name)
        content = self.read(name)
        if content is None:
            raise files.UnfitError(errno.EIO, "it cannot be read from its archive", name)
        return io.BytesIO(content)

    @cached_property
    def log(self) -> list[str] | None:
        """Lines of NVFlare's log; None if there is none."""
        return self.lines(LOG)

    def lines(self, name: str) -> list[str] | None:
        """Return the lines of a log, numbered from 1 as editors do; None if there is none.

        NVFlare moves a log of 20 MiB to ``NAME.1``, and that one to ``NAME.2``: the oldest comes first.
        """
        text = self.read(name)
        if text is None:
            return None
        for number in count(1):
            if len(text) > files.LIMIT or (older := self.read(f"{name}.{number}")) is None:
                break
            text = older + text
        decoded = text.decode("utf-8", errors="replace").replace("\r\n", "\n")
        return decoded.split("\n", _MOST_LINES)[:_MOST_LINES]

    def json(self, ending: str) -> dict[str, Any]:
        """Return the object in the first file whose name ends so; an empty one if there is none."""
        for name in self.sizes:
            if f"/{name}".endswith(f"/{ending}"):
                try:
                    content = json.loads(self.read(name) or b"")
                except (ValueError, RecursionError):
                    continue
                if isinstance(content, dict):
                    return content
        return {}


@dataclass(frozen=True)
class Workspace:
    """NVFlare's files of one run."""

    folder: Path
    """Verdicts name its files relative to this."""
    members: dict[str, Member]
    job: str = ""
    """Name of the simulator's workspace, or the job's id in a POC."""
    configurations: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """What NVFlare read as that of the server or of a site, by its name, where our component recorded it."""

    @property
    def sites(self) -> list[str]:
        """Names of the sites that left files."""
        return [name for name in self.members if name != "server"]

    def find(self, name: str, pattern: str) -> list[LogLine]:
        """Return the lines of ``name``'s log (``server``, ``site-1``) that match ``pattern``."""
        member = self.members.get(name)
        if member is None or member.log is None:
            return []
        file = member.path(LOG).relative_to(self.folder).as_posix()
        search = re.compile(pattern).search
        found = ((number, search(line)) for number, line in enumerate(member.log, 1))
        return [LogLine(match, file, number) for number, match in found if match]

    def unread(self) -> Iterator[str]:
        """Yield a sentence for each log that exists and cannot be read."""
        logs = (LOG, *ERROR_LOGS)
        for path in (member.path(log) for member in self.members.values() for log in logs):
            name = path.relative_to(self.folder).as_posix()
            try:
                content = files.read_content(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                yield describe_unread(name, error)
                continue
            if content.count(b"\n") > _MOST_LINES:
                yield f"Of {name} no more than {_MOST_LINES:,} lines were read."

    def models(self, *sites: str) -> dict[str, tuple[Member, str]]:
        """Return each model that the server saved, or ``sites`` in their apps' folders: where, and its name.

        The key is its name at the server, or ``<site>/<name>``.
        """
        owners = [(owner, self.members[owner]) for owner in (SERVER, *sites) if owner in self.members]
        found = ((_key(owner, name), member, name) for owner, member in owners for name in member.sizes)
        return {key: (member, name) for key, member, name in found if key}

    def models_among(self, files: Iterable[str], *sites: str) -> dict[str, str]:
        """Return the models among ``files`` of the run's folder, by the keys of `models`."""
        found: dict[str, str] = {}
        for owner in {SERVER, *sites} & self.members.keys():
            folder = f"{self.members[owner].path('').relative_to(self.folder).as_posix()}/"
            named = (
                (_key(owner, file.removeprefix(folder)), file) for file in files if file.startswith(folder)
            )
            found |= {key: file for key, file in named if key}
        return found

    @property
    def name(self) -> str:
        """The job's name, as its meta.json has it; ``job`` if there is none."""
        names = (str(member.json("meta.json").get("name") or "") for member in self.members.values())
        return next((name for name in names if name), self.job)


def _key(owner: str, name: str) -> str:
    """Return what a model that ``owner`` saved is called; nothing for other files."""
    if not name.endswith(MODELS) or not folders.NOT_THE_SERVERS.isdisjoint(name.split("/")):
        return ""
    return name if owner == SERVER else f"{owner}/{name}" if _OF_APP.search(name) else ""


def find_workspaces(run_dir: Path) -> list[Workspace]:
    """Return the workspace of each simulation in a run's folder; one without members if there is none."""
    paths = files.find_files(run_dir / folders.JOB, _WORKSPACES)
    workspaces = (_simulated(path, run_dir) for path in paths)
    return [workspace for workspace in workspaces if workspace] or [Workspace(run_dir, {})]


def _simulated(folder: Path, root: Path) -> Workspace | None:
    """Return the simulator's workspace ``folder``, if it is one; files are named relative to ``root``."""
    if not (folder / SERVER).is_dir() or folder.name.startswith("prod_"):
        return None
    members = {path.name: Member(path) for path in sorted(folder.iterdir()) if os.path.lexists(path / LOG)}
    members["server"] = Member(folder / SERVER)
    return Workspace(root, members, folder.name)


def locate_workspace(path: Path) -> Workspace:
    """Return the one run of NVFlare's simulator or of a POC that ``path`` names or holds.

    Raises:
        RecordError: it holds none, or several.
    """
    require_folder(path)
    inside = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir())]
    found = filter(None, (_simulated(folder, path) for folder in inside))
    runs = [run for run in found if run.sites or run.find("server", " - SimulatorRunner - ")]
    here = path.resolve()
    if not runs:
        poc = _poc_around(here)
        jobs = _jobs(poc)
        runs = [_of_poc(poc, job) for job in jobs if job in here.parts] or [_of_poc(poc, job) for job in jobs]
    if not runs:
        raise RecordError(
            f"{path} is not a run: it has no spec.json, and holds no run of NVFlare's simulator or POC.",
            "name a run's folder, the simulator's <root>/<job>, or a POC's folder after a job ran there.",
        )
    if len(runs) > 1:
        names = ", ".join(run.job for run in runs)
        raise RecordError(f"{path} holds {len(runs)} runs: {names}.", "name the folder of one of them.")
    return runs[0]


def _poc_around(here: Path) -> Path:
    """Return the folder of the POC that ``here`` lies in, or would be."""
    for folder in (here, *here.parents):
        if folder.name == "jobs-storage":
            return folder.parent
        if folder.name.startswith("prod_"):
            return folder.parents[1]
    return here.parent if any(here.glob(f"prod_*/{SERVER}")) else here


def _jobs(poc: Path) -> list[str]:
    """Return the ids of a POC's jobs: those in its store, and those whose folders server and sites keep."""
    stored = (meta.parent.name for meta in poc.glob("jobs-storage/*/meta"))
    kept = (app.parent.name for app in poc.glob("*/prod_*/*/*/fl_app.txt"))
    return sorted({*stored, *kept})


def _of_poc(poc: Path, job: str) -> Workspace:
    """Return one job of a POC; the server moves the job's folder into the job store when the job ends."""
    logs = sorted(poc.glob(f"*/prod_*/*/{job}/{LOG}"))
    members = {log.parents[1].name: Member(log.parent) for log in logs}
    archive = poc / "jobs-storage" / job / "workspace"
    if archive.is_file():
        members["server"] = Member(archive)
    return Workspace(poc, members, job)
