# SPDX-License-Identifier: Apache-2.0
"""Reads a lock: its pins, and what a folder of wheels lacks of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rekindle.host.files import ANY, digest_file

_PIN = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?: ; platform_machine == '(?P<machine>\w+)')?"
    r"(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})+)",
    re.MULTILINE,
)


class Pin(NamedTuple):
    """One pinned distribution, and the SHA-256 of each of its allowed files."""

    name: str
    version: str
    digests: frozenset[str]

    @property
    def requirement(self) -> str:
        """The pin as a requirements file has it."""
        hashes = [f"    --hash=sha256:{digest}" for digest in sorted(self.digests)]
        return " \\\n".join([f"{self.name}=={self.version}", *hashes])


def read_pins(lock: str, architecture: str) -> list[Pin]:
    """Return what ``lock`` pins for ``architecture`` (``x86_64``)."""
    return [
        Pin(match["name"], match["version"], frozenset(re.findall(r"[0-9a-f]{64}", match["hashes"])))
        for match in _PIN.finditer(lock)
        if match["machine"] in {None, architecture}
    ]


def list_digests(pins: Iterable[Pin]) -> frozenset[str]:
    """Return the SHA-256 of every file that pins allow."""
    return frozenset().union(*(pin.digests for pin in pins))


def digest_folder(folder: Path) -> dict[str, Path]:
    """Return the files in ``folder`` by the SHA-256 of their content."""
    return {digest_file(path.resolve(), ANY): path for path in sorted(folder.glob("*")) if path.is_file()}


def find_lacking(wanted: list[Pin], have: Mapping[str, Path]) -> Iterator[str]:
    """Yield a clause for each of ``wanted`` that files lack, or of which there is another than the locked.

    Args:
        wanted: of a lock.
        have: the files, as `digest_folder` returns them.
    """
    names = {re.sub(r"[-_.]+", "-", path.name).lower(): path.name for path in have.values()}
    for pin in wanted:
        if pin.digests & have.keys():
            continue
        prefix = re.sub(r"[-_.]+", "-", f"{pin.name}-{pin.version}").lower()
        altered = next((path for name, path in names.items() if name.startswith(prefix)), None)
        yield (
            f"{altered} is not the file that was locked: its digest differs"
            if altered
            else f"{pin.name} {pin.version} is missing"
        )
