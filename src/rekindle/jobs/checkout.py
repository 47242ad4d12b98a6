# SPDX-License-Identifier: Apache-2.0
"""A checkout of NVFlare's on the controller, with its examples."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from rekindle.host.git import ask_git
from rekindle.host.payload import does_travel
from rekindle.records import Job, RecordError
from rekindle.records.text import find_last_line, list_few
from rekindle.solver.catalogue import load_rules

from .placement import PlacementError, cut_minor

_SETTING = "rekindle_nvflare_checkout"
_UPSTREAM = "https://github.com/NVIDIA/NVFlare"
_EXAMPLES = "examples"
_UNKNOWN = "unknown"
_LIMIT_S = 1800
"""For a clone without its history, over a slow line."""


@dataclass(frozen=True)
class Checkout:
    """A checkout, which is never written to."""

    folder: Path
    commit: str
    """As git describes it: ``2.7.2-2-g8b25406a6``; ``unknown`` of a folder without git."""
    nvflare: str

    def require(self, jobs: Iterable[Job]) -> None:
        """Require that the checkout has the examples among ``jobs`` that hosts run, unless it `lacks` them.

        Raises:
            RecordError: an example is not there, or the checkout is of another release.
        """
        fits = cut_minor(self.nvflare)
        for job in jobs:
            example = job.example
            if not (example and example.folder) or fits not in example.releases or self.lacks(job):
                continue
            if cut_minor(self.commit) not in {None, fits}:
                raise RecordError(
                    f"{self.folder} is a checkout of NVFlare {self.commit}, and hosts get {self.nvflare}.",
                    f"name a checkout of {fits} in {_SETTING}.",
                )
            if not (self.folder / _EXAMPLES / example.folder).is_dir():
                raise RecordError(
                    f"{self.folder} has no {_EXAMPLES}/{example.folder}, which {job.name} runs.",
                    f"name a checkout of NVFlare {' or '.join(example.releases)} in {_SETTING}.",
                )

    def lacks(self, job: Job) -> PlacementError | None:
        """Return why an example was removed from this checkout; None if it has it, or should have it."""
        example = job.example
        if example is None or example.folder is None or example.removed is None:
            return None
        if (self.folder / _EXAMPLES / example.folder).is_dir():
            return None
        return PlacementError(
            f"The checkout of NVFlare, {self.commit}, has no {_EXAMPLES}/{example.folder} any more: "
            f"{example.removed.why}.",
            f"Name a folder with NVFlare checked out at {example.removed.commit} in {_SETTING}.",
        )

    def version(self, job: Job, sent: Mapping[str, bytes]) -> str:
        """Return the commit of an example: ``<commit>-dirty (client.py)`` if that file is not the commit's.

        Args:
            job: the example.
            sent: its files as they were sent, by name.
        """
        if self.commit == _UNKNOWN or not (job.example and job.example.folder):
            return self.commit
        committed = _committed(self.folder, f"{_EXAMPLES}/{job.example.folder}")
        edited = sorted(name for name in {*sent, *committed} if sent.get(name) != committed.get(name))
        return f"{self.commit}-dirty ({list_few(edited)})" if edited else self.commit

    def examples(self, jobs: Iterable[Job]) -> dict[str, Path]:
        """Return the folder of each example here among ``jobs``, by its name."""
        described = {job.name: job.example.folder for job in jobs if job.example and job.example.folder}
        examples = {name: self.folder / _EXAMPLES / folder for name, folder in described.items()}
        return {name: folder for name, folder in examples.items() if folder.is_dir()}


def provide_checkout(setting: str, nvflare: str | None) -> Checkout:
    """Return the checkout that ``setting`` names; what is cloned is kept in this user's cache.

    Args:
        setting: a folder, or ``URL@ref``; empty for upstream's tag of the release on hosts.
        nvflare: that release; None for the usual one.

    Raises:
        RecordError: it is no checkout, or cannot be cloned.
    """
    installed = nvflare or load_rules().nvflare.version
    url, _, ref = (setting or f"{_UPSTREAM}@{installed}").rpartition("@")
    folder = _cloned(url, ref) if "://" in url else Path(setting).expanduser().absolute()
    if not (folder / _EXAMPLES).is_dir():
        raise RecordError(
            f"{_SETTING} is {setting!r}, and {folder} has no {_EXAMPLES}/.",
            "name a folder with a checkout of NVFlare, or URL@ref of a repository.",
        )
    commit = ""
    with suppress(OSError, subprocess.SubprocessError):
        commit = ask_git("describe", "--tags", "--always", "--match=[0-9]*", folder=folder).decode().strip()
    return Checkout(folder, commit or _UNKNOWN, installed)


def _cloned(url: str, ref: str) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rekindle" / "nvflare"
    target = cache / re.sub(r"[^\w.-]+", "-", f"{url.partition('://')[2]}-{ref}")
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as aside:  # each host has a process that does this
        options = ("--quiet", "--depth=1", f"--branch={ref}", "--")
        try:
            ask_git("clone", *options, url, f"{aside}/clone", limit_s=_LIMIT_S)
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or str(error).encode()).decode(errors="replace")
            raise RecordError(
                f"NVFlare's examples cannot be fetched from {url} at {ref}: "
                f"{find_last_line(said)[:300] or 'git printed nothing'}",
                f"name a folder with a checkout in {_SETTING}.",
            ) from None
        if not target.is_dir():
            shutil.move(f"{aside}/clone", target)
    return target


def _committed(checkout: Path, folder: str) -> dict[str, bytes]:
    """Return the files of ``folder`` that a fresh checkout of the commit would send, by name."""
    committed = {}
    with suppress(OSError, subprocess.SubprocessError, tarfile.TarError):
        packed = ask_git("archive", "--format=tar", "HEAD", folder, folder=checkout)
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            for member in archive:
                name = member.name.removeprefix(f"{folder}/")
                content = archive.extractfile(member) if member.isreg() else None
                if content and does_travel(name):
                    committed[name] = content.read()
    return committed
