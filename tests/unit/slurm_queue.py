"""Stand-ins for the commands of SLURM's queue: each says what a test has it say, and keeps its words."""

import shlex

_COMMAND = """#!/bin/sh
printf '%s\\n' "$*" >> {kept}.asked
env > {kept}.environ
printf %s {says}
printf %s {errors} >&2
exit {status}
"""


class Queue:
    """sbatch, squeue, scontrol, sinfo and scancel, which know of nothing until a test tells them."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.say("sbatch", "77;cluster\n")
        for name in ("squeue", "scontrol", "sinfo", "scancel"):
            self.say(name)

    def say(self, name, says="", errors="", status=0):
        """Have a command answer this from now on."""
        words = {"kept": self.folder / name, "says": says, "errors": errors}
        quoted = {key: shlex.quote(str(value)) for key, value in words.items()}
        self.put(name, _COMMAND.format(**quoted, status=status))

    def put(self, name, script):
        """Have a command be this script."""
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
