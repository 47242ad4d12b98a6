# SPDX-License-Identifier: Apache-2.0
"""The uv that builds a host's environments; the controller's runs only on hosts of its kind."""

import hashlib
import platform
import tempfile
import zipfile
from pathlib import Path

from uv import find_uv_bin

from rekindle.environments.lockfile import read_pins
from rekindle.host import paths, storage
from rekindle.records import RecordError
from rekindle.results import state

from .wheelhouse import Target, fetch_pins

_LOCK = "requirements/uv.txt"
_GLIBC = "2.17"
"""Of uv's oldest wheels for Linux."""


def find_own_uv() -> Path:
    """Return this machine's uv.

    Raises:
        RecordError: it has none.
    """
    try:
        return Path(find_uv_bin())
    except FileNotFoundError:
        fix = "install it beside Ansible, in one environment with Rekindle."
        raise RecordError("uv, which builds environments on hosts, is not installed here.", fix) from None


def provide_uv(architecture: str) -> Path:
    """Return a uv for Linux: this machine's own if it runs there, else the locked one, which is cached.

    Args:
        architecture: of the host's processor, such as ``aarch64``.

    Raises:
        RecordError: this machine has none, or the fetched one cannot be cached.
        BundleError: pip could not fetch it.
    """
    if (platform.system(), platform.machine()) == ("Linux", architecture):
        return find_own_uv()
    lock = (paths.find_collection() / _LOCK).read_text(encoding="utf-8")
    digest = hashlib.sha256(lock.encode()).hexdigest()
    folder = state.make_state_folder("uv")
    kept = folder / f"{digest[:12]}-{architecture}" / "uv"
    with storage.lock_folder(folder):  # hosts of one kind ask at once
        if not kept.exists():
            storage.write_file(kept, _fetched(Target("uv.txt", lock, digest, "3.11", architecture, _GLIBC)))
            kept.chmod(0o700)
    return kept


def _fetched(target: Target) -> bytes:
    (pin,) = read_pins(target.text, target.architecture)
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder, "wheels")
        wheels.mkdir()
        (wheel,) = fetch_pins([pin], wheels, target)
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(f"uv-{pin.version}.data/scripts/uv")
