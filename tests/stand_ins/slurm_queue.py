# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for SLURM's queue commands: each gives the answer that a test sets, and records its arguments."""

import shlex

_COMMAND = """#!/bin/sh
printf '%s\\n' "$*" >> {kept}.asked
env > {kept}.environ
printf %s {message}
printf %s {errors} >&2
exit {status}
"""


class Queue:
    """sbatch, squeue, scontrol, sinfo and scancel, with empty answers until a test sets others."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.set("sbatch", "77;cluster\n")
        for name in ("squeue", "scontrol", "sinfo", "scancel"):
            self.set(name)

    def set(self, name, message="", errors="", status=0):
        """Set the answer of a command."""
        words = {"kept": self.folder / name, "message": message, "errors": errors}
        quoted = {key: shlex.quote(str(value)) for key, value in words.items()}
        self.put(name, _COMMAND.format(**quoted, status=status))

    def put(self, name, script):
        """Replace a command by this script."""
        path = self.folder / name
        path.write_text(script)
        path.chmod(0o755)

    def asked(self, name):
        """Return the command lines, without the name, that a command was called with."""
        path = self.folder / f"{name}.asked"
        return path.read_text().splitlines() if path.exists() else []

    def environ(self, name):
        """Return the variables that a command had when it was called last."""
        text = (self.folder / f"{name}.environ").read_text()
        return dict(line.partition("=")[::2] for line in text.splitlines())
