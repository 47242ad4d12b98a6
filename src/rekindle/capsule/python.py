# SPDX-License-Identifier: Apache-2.0
"""The archive of the Python that the controller brings: fetched here, checked, and unpacked on the host."""

import hashlib
import shlex
import shutil
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

from rekindle.host import storage
from rekindle.hostfacts import choose_interpreter, name_archive
from rekindle.records import HostRecord, PlanRecord, Python, RecordError
from rekindle.results import state

_PATIENCE_S = 60
"""Without a byte from the server."""


def list_archives(plan: PlanRecord, host: HostRecord) -> list[Python]:
    """Return what a host's plan, or our driver there, needs of what can be brought."""
    used = {environment.build.python for environment in plan.environments if environment.build}
    used.add(choose_interpreter(host.pythons) or "")
    return [python for python in host.pythons if python.archive and python.path in used]


def fetch_python(python: Python, wheelhouse: Path | None = None) -> Path:
    """Return the archive of ``python`` on this machine: the wheelhouse's, a file, or one kept from a URL.

    Raises:
        RecordError: there is none, or its SHA-256 is another.
    """
    source = str(python.archive)
    name = name_archive(source)
    if wheelhouse and (bundled := wheelhouse / _digest(python) / name).is_file():
        return _checked(bundled, python)
    if "://" not in source:
        return _checked(Path(source).expanduser(), python)
    folder = state.make_state_folder("python")
    kept = folder / _digest(python) / name
    with storage.lock_folder(folder):  # hosts of one kind ask at once
        if not kept.exists():
            storage.write_file(kept, _of_url(source, python))
    return _checked(kept, python)


def bundle_python(python: Python, wheelhouse: Path) -> Path:
    """Copy the archive of ``python`` into a wheelhouse, for controllers without a network.

    Raises:
        RecordError: as `fetch_python` does.
    """
    path = fetch_python(python, wheelhouse)
    target = wheelhouse / _digest(python) / path.name
    if path != target:
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target)
    return target


def bring_python(
    python: Python,
    wheelhouse: Path | None,
    execute: Callable[[str], dict[str, Any]],
    put_file: Callable[[str, str], Any],
) -> bool:
    """Unpack ``python`` where its path leads on the host, unless it is there; return whether it was not.

    Args:
        python: one that is brought.
        wheelhouse: folder that may have its archive.
        execute: runs a line of sh there, as an action's ``_low_level_execute_command`` does.
        put_file: copies a file there.

    Raises:
        RecordError: the archive is missing or altered, or the Python does not run there.
    """
    path, home = shlex.quote(python.path), Path(python.path).parents[1]
    runs = f"{path} -I -c 'import ssl, sys, venv; print(\"%d.%d.%d\" % sys.version_info[:3])'"
    if execute(runs)["stdout"].strip() == python.version:
        return False
    archive, there = fetch_python(python, wheelhouse), f"{home}.tar.gz"
    aside, target = shlex.quote(f"{home}.new"), shlex.quote(str(home))
    execute(f"umask 077; rm -rf {aside}; mkdir -p {aside}")
    put_file(str(archive), there)
    unpacked = f"tar -xzf {shlex.quote(there)} -C {aside} --strip-components=1"
    done = execute(
        f"{unpacked} && rm -rf {target} && mv {aside} {target}; rm -rf {aside} {shlex.quote(there)}; {runs}"
    )
    if done["stdout"].strip() != python.version:
        reason = " ".join(done["stderr"].split())[-300:] or "no answer"
        raise RecordError(
            f"Python {python.version} was brought to {home} and does not run there: {reason}.",
            "free space in rekindle_root, or install a Python from 3.10 to 3.12 on the host.",
        )
    return True


def _digest(python: Python) -> str:
    return str(python.sha256)[:12]


def _of_url(source: str, python: Python) -> bytes:
    try:
        with urllib.request.urlopen(source, timeout=_PATIENCE_S) as answer:
            content: bytes = answer.read()
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise RecordError(
            f"The Python for hosts cannot be fetched from {source}: {reason}.",
            "fetch it elsewhere, and have rekindle_python_archive name the file.",
        ) from None
    _check(hashlib.sha256(content).hexdigest(), source, python)
    return content


def _checked(path: Path, python: Python) -> Path:
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise RecordError(
            f"{path} cannot be read: {error.strerror}.", "have rekindle_python_archive name a file or URL."
        ) from None
    _check(digest, str(path), python)
    return path


def _check(digest: str, source: str, python: Python) -> None:
    if digest != python.sha256:
        raise RecordError(
            f"{source} has the SHA-256 {digest}, and {python.sha256} is expected.",
            "remove it, and fetch the archive again.",
        )
