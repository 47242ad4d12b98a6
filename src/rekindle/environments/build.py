"""One locked environment: built aside, renamed into place, and known again by its lock's digest."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import time
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from typing import Any

from .indexes import uv_environment

_MARKER = "rekindle-env.json"
_REPORT_LIMIT_S = 300
_INSTALL_LIMIT_S = 3600


class BuildError(RuntimeError):
    """An environment could not be built; the text is one sentence with the fix."""


def build(root: Path, spec: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Make the environment that ``spec`` asks for under ``root``.

    Args:
        root: Rekindle's folder on the host.
        spec: ``name``, ``python`` (interpreter), ``lock`` (file under rekindle/locks), ``lock_sha256``,
            ``system_site`` (whether the interpreter lends the packages that the lock leaves out).

    Returns:
        The Environment record as builtins, and whether anything was done.

    Raises:
        BuildError: the lock is not the planned one, or uv or the environment's own report failed.
    """
    lock = files("rekindle.locks").joinpath(spec["lock"]).read_bytes()
    digest = hashlib.sha256(lock).hexdigest()
    if digest != spec["lock_sha256"]:
        raise BuildError(f"{spec['lock']} is not the lock that was planned. Fix: run the plan stage again.")
    envs = root / "envs"
    envs.mkdir(parents=True, exist_ok=True)
    target = envs / f"{spec['name']}-{digest[:12]}"
    with (envs / f".{spec['name']}.lock").open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        known = _known(target, spec)
        if known is not None:
            return known, False
        aside = envs / f".{target.name}.building"
        shutil.rmtree(aside, ignore_errors=True)
        began = time.monotonic()
        try:
            _install(root, aside, spec, lock)
            record = {
                "framework": spec["name"],
                "path": str(target),
                "python": str(target / "bin" / "python"),
                "lock": spec["lock"],
                "lock_sha256": digest,
                "built": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                **_report(root, aside),
                "build_s": round(time.monotonic() - began, 2),
            }
            marker = {"spec": spec, "environment": record, "files": _fingerprint(aside)}
            (aside / _MARKER).write_text(json.dumps(marker, indent=1), encoding="utf-8")
            shutil.rmtree(target, ignore_errors=True)
            aside.rename(target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return record, True


def _known(target: Path, spec: dict[str, Any]) -> dict[str, Any] | None:
    """Return the record of a finished, undamaged environment that was made for ``spec``."""
    try:
        marker = json.loads((target / _MARKER).read_text(encoding="utf-8"))
        whole = marker["spec"] == spec and marker["files"] == _fingerprint(target)
        record: dict[str, Any] = marker["environment"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if whole else None


def _fingerprint(folder: Path) -> str:
    """Digest every file's path and size, but for bytecode, which Python writes as it likes."""
    total = hashlib.sha256()
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if one != "__pycache__")
        for name in sorted(names):
            if name != _MARKER:
                path = os.path.join(base, name)  # noqa: PTH118 - tens of thousands of files
                total.update(f"{path[len(str(folder)) :]}\0{os.lstat(path).st_size}\n".encode())
    return total.hexdigest()


def _install(root: Path, aside: Path, spec: dict[str, Any], lock: bytes) -> None:
    lock_file = root / "tmp" / f"{spec['name']}-{os.getpid()}.txt"
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    lock_file.write_bytes(lock)
    try:
        _uv(root, "venv", "--quiet", "--relocatable", "--python", spec["python"], str(aside))
        python = aside / "bin" / "python"
        _uv(root, "pip", "sync", "--quiet", "--require-hashes", "--python", str(python), str(lock_file))
    finally:
        lock_file.unlink()
    if spec["system_site"]:
        paths = "import sysconfig; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('platlib'))"
        lender = _run([spec["python"], "-I", "-c", paths], 60, os.environ.copy()).splitlines()
        borrower = _run([str(python), "-I", "-c", paths], 60, os.environ.copy()).splitlines()[0]
        (Path(borrower) / "rekindle_system_site.pth").write_text("\n".join(dict.fromkeys(lender)) + "\n")


def _report(root: Path, aside: Path) -> dict[str, Any]:
    script = files("rekindle.environments").joinpath("report.py").read_text(encoding="utf-8")
    environ = {**os.environ, "TMPDIR": str(root / "tmp")}
    environ.pop("PYTHONPATH", None)
    python = str(aside / "bin" / "python")
    report: dict[str, Any] = json.loads(
        _run([python, "-c", script], _REPORT_LIMIT_S, environ).splitlines()[-1]
    )
    version = _run([python, "-I", "-c", "import platform; print(platform.python_version())"], 60, environ)
    return {**report, "python_version": version.strip()}


def _uv(root: Path, *arguments: str) -> None:
    environ = uv_environment(os.environ)
    environ.update(
        TMPDIR=str(root / "tmp"),
        UV_CACHE_DIR=str(root / "cache" / "uv"),
        UV_PYTHON_DOWNLOADS="never",
        UV_NO_CONFIG="1",
    )
    _run([str(root / "cache" / "bin" / "uv"), *arguments], _INSTALL_LIMIT_S, environ)


def _run(command: list[str], limit_s: int, environ: dict[str, str]) -> str:
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise BuildError(
            f"`{' '.join(command[:3])} …` took longer than {limit_s} s. Fix: look at its disk and network."
        ) from None
    except OSError as error:
        raise BuildError(
            f"{command[0]} cannot be started: {error.strerror}. Fix: run the play again."
        ) from None
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-1500:]
        raise BuildError(
            f"`{' '.join(command[:3])} …` failed: {said} Fix: mend what it names and run the play again."
        )
    return done.stdout
