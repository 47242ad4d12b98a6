# SPDX-License-Identifier: Apache-2.0
"""What NVFlare and job.py logged in a run."""

from functools import cached_property
from pathlib import Path

from rekindle.flare.log import LogRecord, read_records
from rekindle.flare.workspace import LOG, LogLine, Workspace
from rekindle.host import files, folders
from rekindle.records.text import clean_text, shorten_text


class Logs:
    """The logs of a run; each is read once."""

    def __init__(self, folder: Path, workspace: Workspace) -> None:
        """Take the run's folder, and NVFlare's workspace there."""
        self._folder, self._workspace = folder, workspace
        self._records: dict[tuple[str, str], list[LogRecord]] = {}

    def records(self, name: str, log: str = LOG) -> list[LogRecord]:
        """Return the records of a log of ``name`` (``server``, ``site-1``)."""
        if (name, log) not in self._records:
            self._records[name, log] = read_records(self._workspace, name, log)
        return self._records[name, log]

    def find(self, name: str, pattern: str) -> list[LogLine]:
        """Return the lines of ``name``'s log (``server``, ``site-1``) that match ``pattern``."""
        return self._workspace.find(name, pattern)

    @cached_property
    def printed(self) -> list[str]:
        """The lines that job.py printed, without colours; of a larger log than hosts send its end."""
        try:
            printed = files.read_end(self._folder / folders.JOB_LOG, files.LIMIT).decode("utf-8", "replace")
        except OSError:
            return []
        return clean_text(printed.replace("\r\n", "\n"), files.LIMIT).split("\n")

    @property
    def last_words(self) -> str:
        """The last line that job.py printed."""
        lines = (shorten_text(line.strip(), 500) for line in reversed(self.printed) if line.strip())
        return next(lines, "it printed nothing.")
