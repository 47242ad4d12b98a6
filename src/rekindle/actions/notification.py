# SPDX-License-Identifier: Apache-2.0
"""The command of a user's own at a run's end, which gets its results.json."""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from rekindle.host import files
from rekindle.records import Complaint
from rekindle.records.text import fold_line

LIMIT_S = 60
_LONGEST = 400


def find_program_mistakes(command: list[str]) -> list[str]:
    """Return that there is no such program, before a run whose end it would hear of; nothing if there is."""
    if not command or shutil.which(command[0]):
        return []
    words = "write it as [command, argument]" if " " in command[0] else "install it, or write its path"
    why, fix = "and no program here has that name", f"{words}."
    return [fold_line(str(Complaint(f"rekindle_on_end begins with {command[0]!r}, {why}.", fix)))]


def notify_command(command: list[str], results: Path) -> str | None:
    """Run ``command`` with results.json of a folder on its standard input; return what failed, if it did.

    It has the folder as ``REKINDLE_RESULTS``, and its output is shown only of a failure.
    """
    file = results / "results.json"
    environ = {**os.environ, "REKINDLE_RESULTS": str(results)}
    try:
        with files.open_file(file) as stream, tempfile.TemporaryFile() as output:
            ended = subprocess.run(
                command, stdin=stream, stdout=output, stderr=output, env=environ, timeout=LIMIT_S, check=False
            )
            output.seek(max(0, output.tell() - _LONGEST))
            words = fold_line(output.read(_LONGEST).decode(errors="replace"))
        if ended.returncode == 0:
            return None
        what = f"ended with status {ended.returncode}{f': {words}' if words else ''}"
    except subprocess.TimeoutExpired:
        what = f"did not end within {LIMIT_S} s"
    except (OSError, ValueError) as error:
        what = f"cannot be run: {error}"
    fix = f"write it as [command, argument], and try it with < {shlex.quote(str(file))}; the verdicts stand."
    return fold_line(str(Complaint(f"rekindle_on_end, {command[0]!r}, {what.rstrip('.')}.", fix)))
