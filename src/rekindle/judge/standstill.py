# SPDX-License-Identifier: Apache-2.0
"""Where the trainers of a run that hangs stood when it was ended, by the stacks in its autopsy."""

import re

from rekindle.host import files, folders
from rekindle.records.stacks import find_stacks
from rekindle.records.text import clean_text

from .run import Run

_LARGEST = 1 << 22
"""Bytes of a file of stacks that are read."""
_FRAME = re.compile(r"^ {4}\S.{0,300} \(([^()\s]{1,300}\.py):(\d{1,9})\)$", re.MULTILINE)
"""As py-spy prints a frame: its function, its file and its line."""
_ASKS = re.compile(r"^ {4}\S{0,100}\bget_task \(nvflare/client/", re.MULTILINE)
"""NVFlare's part of a launched trainer, which waits for the next task."""


def find_lines(run: Run) -> dict[str, str]:
    """Return file and line of the job's own code in which each site's trainer stood, where stacks show it.

    It is the innermost frame there; a library's frames below it say what it waits for, as the next task.
    """
    job = run.folder / folders.JOB
    paths = (path.relative_to(job) for path in job.rglob("*.py"))
    code = {path.name for path in paths if path.parts[0] != folders.WORKSPACE}
    found: dict[str, str] = {}
    for node in run.nodes:
        owners = run.samples.owners_of(node)
        name = f"{folders.AUTOPSY}/stacks{f'-{node}' if node and node != run.nodes[0] else ''}.txt"
        for stacks in find_stacks(_text(run, name)):
            lines = (f"{file.rpartition('/')[2]}:{line}" for file, line in _FRAME.findall(stacks.text))
            own = (line for line in lines if line.partition(":")[0] in code)
            if stacks.pid in owners and (line := next(own, None)):
                asks = ", where it waits for a task" if _ASKS.search(stacks.text) else ""
                found.setdefault(owners[stacks.pid], f"{line}{asks}")
    return found


def _text(run: Run, name: str) -> str:
    try:
        return clean_text(files.read_end(run.folder / name, _LARGEST).decode("utf-8", "replace"), _LARGEST)
    except OSError:  # the run had no autopsy
        return ""
