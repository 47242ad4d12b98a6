# SPDX-License-Identifier: Apache-2.0
"""NVFlare on the controller, for its provisioning: an environment built from a lock at first use."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

from rekindle import locks
from rekindle.environments.indexes import make_uv_environment, mask_credentials
from rekindle.host import storage
from rekindle.host.variables import select_for_installers
from rekindle.records import Complaint

_LIMIT_S = 600


def provide_nvflare(folder: Path, release: str, wheelhouse: str = "") -> Path:
    """Return the Python of an environment with that release of NVFlare.

    Args:
        folder: for such environments.
        release: such as ``2.9.0``.
        wheelhouse: folder of `rekindle bundle`, which is used alone if given.

    Raises:
        Complaint: it cannot be installed here.
    """
    target = folder / release
    python = target / "bin" / "python"
    with storage.lock_folder(folder):
        if not (target / "ready").exists():
            shutil.rmtree(target, ignore_errors=True)
            _build(release, target, wheelhouse)
            (target / "ready").touch()
    return python


def _build(release: str, target: Path, wheelhouse: str) -> None:
    environ = {**select_for_installers(os.environ), "UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1"}
    words = ["--require-hashes"]
    if wheelhouse:
        folders = sorted(Path(wheelhouse).expanduser().glob("*/"))
        words += ["--offline", "--no-index", *(f"--find-links={folder}" for folder in folders)]
    else:
        environ = make_uv_environment(environ)
    lock = target.with_name(f"{release}.txt")
    lock.write_text(locks.read_lock(f"nvflare-{release}.txt"), encoding="utf-8")
    uv, python = find_uv_bin(), str(target / "bin" / "python")
    try:
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(target)], environ, release)
        words += ["--build-constraints", str(lock), str(lock)]
        _run([uv, "pip", "sync", "--quiet", "--python", python, *words], environ, release)
    finally:
        lock.unlink()


def _run(command: list[str], environ: dict[str, str], release: str) -> None:
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        raise Complaint(
            f"NVFlare {release} was not installed on this machine within {_LIMIT_S} s.",
            "look at its network and disk.",
        ) from None
    if done.returncode:
        reason = mask_credentials(" ".join(done.stderr.split()))[-500:]
        raise Complaint(
            f"NVFlare {release}, which makes a federation's certificates, cannot be installed here: {reason}",
            "give this machine its package index, or a complete wheelhouse.",
        )
