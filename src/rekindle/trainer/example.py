"""``python -m rekindle.trainer.example SPEC OPTION…``: runs an example that others wrote, as it stands.

In the folder that has a copy of it: mends it where its description says so, makes what stands in for data
sets that are not reached, and runs its own commands. The exit status is the first one's that is not 0.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .data import make
from .hook import WORKSPACE
from .standins import DATA


def main() -> int:
    """Run the example of the spec that the command line names."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["job"]
    example = job["example"]
    for mend in example.get("mends", ()):
        _mend(Path(mend["file"]), mend)
    data = Path(os.environ[DATA] or ".")
    for name in example.get("data", ()):
        make(name, data)
    known = {
        "{sites}": str(job["sites"]),
        "{rounds}": str(job["rounds"]),
        "{data}": str(data),
        "{workspace}": os.environ.get(WORKSPACE, ""),
    }
    for command in [*example.get("before", ()), [*example["command"], *sys.argv[2:]]]:
        done = subprocess.run([sys.executable, *(_filled(word, known) for word in command)], check=False)
        if done.returncode:
            return done.returncode if done.returncode > 0 else 128 - done.returncode
    return 0


def _mend(path: Path, mend: dict[str, Any]) -> None:
    text = path.read_text(encoding="utf-8")
    times = text.count(mend["before"])
    if times != 1:
        sys.exit(
            f"{path} is not as its mend says: {mend['before']!r} stands there {times} times. "
            "Fix: name the checkout of a release that the example's description is for."
        )
    path.write_text(text.replace(mend["before"], mend["after"]), encoding="utf-8")


def _filled(word: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        word = word.replace(name, value)
    return word


if __name__ == "__main__":
    sys.exit(main())
