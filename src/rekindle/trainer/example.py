# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.trainer.example SPEC OPTION…``: runs an example that others wrote, unchanged.

In the folder with a copy of it: applies the mends in its description, makes the stand-ins for data sets
that are not reached, runs its own commands, and then loads the models that the server saved. The exit
status is that of the first command that fails.
"""

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rekindle.host.engines import KINDS

from . import links
from .data import DATA, make_stand_in
from .variables import WORKSPACE


def main() -> int:
    """Run the example of the spec that the command line names."""
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    job = spec["job"]
    example = job["example"]
    for mend in example.get("mends", ()):
        if mend.get("where") != "cpu" or not spec.get("gpus"):
            _mend(Path(mend["file"]), mend)
    data = Path(os.environ[DATA] or ".")
    for name in example.get("data", ()):
        make_stand_in(name, data)
    known = {
        "{sites}": str(job["sites"]),
        "{rounds}": str(job["rounds"]),
        "{data}": str(data),
        "{workspace}": os.environ.get(WORKSPACE, ""),
        "{gpus}": _gpus(spec),
        "{names}": ",".join(site["name"] for site in spec["sites"]),
        "{devices}": ",".join(
            f"[{','.join(site['gpus'] or ['cpu'] * site['ranks'])}]" for site in spec["sites"]
        ),
    }
    for command in [*example.get("before", ()), [*example["command"], *sys.argv[2:]]]:
        with ExitStack() as ports:
            words = [_filled(word, known, ports) for word in command]
        program = "bash" if words[0].endswith(".sh") else sys.executable
        status = subprocess.run([program, *words], check=False).returncode
        if status:
            break
    links.remove_links()
    if status:
        return status if status > 0 else 128 - status
    subprocess.run([sys.executable, "-m", f"{__package__}.saved_models"], check=False)  # it records errors
    return 0


def _mend(path: Path, mend: dict[str, Any]) -> None:
    text = path.read_text(encoding="utf-8")
    times = text.count(mend["before"])
    if times != 1:
        sys.exit(
            f"The mend of {path} does not apply: {mend['before']!r} occurs {times} times in it. "
            "Fix: name the checkout of a release that the example's description is for."
        )
    path.write_text(text.replace(mend["before"], mend["after"]), encoding="utf-8")


def _gpus(spec: dict[str, Any]) -> str:
    """Return the indexes of each site's GPUs in brackets; of its ranks, where there are none."""
    # A container of Docker or Podman numbers its own GPUs from 0.
    inside = KINDS[spec["engine"]["name"]].own_numbers if spec.get("engine") else False
    given = enumerate(spec.get("gpus", ()))
    indexes = {gpu["uuid"]: number if inside else gpu["index"] for number, gpu in given}
    sites = ([indexes[uuid] for uuid in site["gpus"]] or range(site["ranks"]) for site in spec["sites"])
    return ",".join(f"[{','.join(map(str, site))}]" for site in sites)


def _filled(word: str, known: dict[str, str], ports: ExitStack) -> str:
    """Return ``word`` with its values; ``ports`` keeps the free ports open, so that no two are the same."""
    for name, value in known.items():
        word = word.replace(name, value)
    while "{port}" in word:
        free = ports.enter_context(socket.create_server(("127.0.0.1", 0)))
        word = word.replace("{port}", str(free.getsockname()[1]), 1)
    return word


if __name__ == "__main__":
    sys.exit(main())
