# SPDX-License-Identifier: Apache-2.0
"""Write the hash-pinned locks under requirements/ for every Python and platform of a controller.

    uv must be on PATH; python -m rekindle.environments.indexes runs this with pip's indexes
    lock_controller.py [--upgrade]

A lock has the digest of every file of a pinned version in the index, for all machines. Beside it NAME.sha256
lists these files, as sha256sum does, for tests without an index. Pins stay unless --upgrade is given or
NAME.in asks for others. The pins of controller.txt hold in the others, which are installed beside it.
"""

import argparse
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from resolve import compile_pylock, files

REQUIREMENTS = Path(__file__).parents[1] / "requirements"
OLDEST_PYTHON = "3.11"


def render(entries: Iterable[Mapping[str, Any]]) -> tuple[str, dict[str, str]]:
    """Return the text of a lock and the digests of its files by name, from the packages of a pylock."""
    pins, names = [], dict[str, str]()
    for entry in entries:
        marker = f" ; {entry['marker']}" if "marker" in entry else ""
        found = files([*entry.get("wheels", []), *([entry["sdist"]] if "sdist" in entry else [])])
        digests = {file.name: file.sha256 for file in found}
        hashes = [f"    --hash=sha256:{digest}" for digest in sorted(digests.values())]
        pins.append(" \\\n".join([f"{entry['name']}=={entry['version']}{marker}", *hashes]) + "\n")
        names |= digests
    return "".join(pins), names


def _pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))


def main() -> None:
    """Write the locks, controller.txt first."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upgrade", action="store_true", help="forget the pins that are there")
    upgrade = parser.parse_args().upgrade
    options = ["--universal", f"--python-version={OLDEST_PYTHON}"]
    shared: dict[str, str] = {}
    for wanted in sorted(REQUIREMENTS.glob("*.in")):
        lock = wanted.with_suffix(".txt")
        before = lock.read_text(encoding="utf-8") if lock.exists() and not upgrade else ""
        known = {**_pins(before), **shared}
        lines = wanted.read_text(encoding="utf-8").splitlines()
        requirements = [line for line in lines if line and not line.startswith("#")]
        text, names = render(compile_pylock(requirements, known, options))
        lock.write_text(text, encoding="utf-8")
        shared = shared or _pins(text)
        listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(names.items()))
        lock.with_suffix(".sha256").write_text(listed, encoding="utf-8")


if __name__ == "__main__":
    main()
