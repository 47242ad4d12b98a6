# SPDX-License-Identifier: Apache-2.0
"""One locked environment: built aside, renamed into place, and identified by its lock's digest."""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from typing import Any

from rekindle.host import folders
from rekindle.host.caches import move_bytecode
from rekindle.host.variables import select_for_installers, select_for_jobs

from . import Specification
from .indexes import make_uv_environment, mask_credentials
from .libraries import link_libraries
from .lockfile import digest_folder, find_lacking, read_pins
from .probe import ProbeError, list_packages, probe_environment

_LIMIT_S = 3600
_OPERATORS = "torchvision_on_cpu"


class BuildError(RuntimeError):
    """An environment could not be built; the text is one sentence with the fix."""


def build_environment(
    root: Path, spec: Specification, on_line: Callable[[str], None] | None = None
) -> tuple[dict[str, Any], bool]:
    """Build the environment ``spec`` under ``root``.

    Args:
        root: Rekindle's folder on the host, where uv and the wheels are.
        spec: what to build.
        on_line: is called with each line that uv prints while it installs.

    Returns:
        The Environment record as builtins, and whether anything was done.

    Raises:
        BuildError: the lock is not the planned one, uv failed, or the environment does not work.
    """
    lock = spec["lock_text"].encode()
    digest = hashlib.sha256(lock).hexdigest()
    if digest != spec["lock_sha256"]:
        raise BuildError(f"{spec['lock']} is not the lock that was planned. Fix: run the plan stage again.")
    envs, tmpdir = root / folders.ENVS, root / folders.TMP
    envs.mkdir(parents=True, exist_ok=True)
    target = folders.locate_environment(root, spec["name"], digest)
    with (envs / f".{spec['name']}.lock").open("a") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        known = _known(target, spec)
        if known is not None:
            return known, False
        if target.exists():  # its files are hard links to uv's cache
            _run([str(root / folders.UV), "cache", "clean", "--quiet"], _uv_environment(root, None))
        aside = envs / f".{target.name}.building"
        shutil.rmtree(aside, ignore_errors=True)
        began = time.monotonic()
        try:
            _install(root, aside, spec, lock, on_line)
            python = aside / "bin" / "python"
            record = {
                "framework": spec["name"],
                "path": str(target),
                "python": str(target / "bin" / "python"),
                "lock": spec["lock"],
                "lock_sha256": digest,
                "built": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "build_s": round(time.monotonic() - began, 2),
                **list_packages(python, tmpdir),
                "probe": probe_environment(python, spec["name"], spec["gpus"], tmpdir),
            }
            marker = {
                "spec": _identity(spec),
                "environment": record,
                "lock_text": spec["lock_text"],
                "files": _fingerprint(aside),
            }
            (aside / folders.ENV_MARKER).write_text(json.dumps(marker, indent=1), encoding="utf-8")
            shutil.rmtree(target, ignore_errors=True)
            move_bytecode(aside, target)
            aside.rename(target)
        except ProbeError as error:
            raise BuildError(
                f"The {spec['name']} environment was built from {spec['lock']} and does not work: {error}. "
                "Fix: pin another build with rekindle_pins, or repair the host."
            ) from None
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return record, True


def find_built(root: Path, specs: list[Specification]) -> list[dict[str, Any]]:
    """Return the Environment records of all ``specs``; none unless each is as it was built.

    Nothing is made.
    """
    found = []
    for spec in specs:
        target = folders.locate_environment(root, spec["name"], spec["lock_sha256"])
        record = _known(target, spec)
        if record is None:
            return []
        found.append(record)
    return found


def _known(target: Path, spec: Specification) -> dict[str, Any] | None:
    try:
        marker = json.loads((target / folders.ENV_MARKER).read_text(encoding="utf-8"))
        same = marker["spec"] == _identity(spec)
        unaltered = same and marker["files"] == _fingerprint(target)
        record: dict[str, Any] = marker["environment"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if unaltered else None


def _identity(spec: Specification) -> dict[str, object]:
    named = ("name", "python", "lock_sha256", "system_site", "gpus")
    return {name: value for name, value in spec.items() if name in named}


def _fingerprint(folder: Path) -> str:
    """Digest every file's path and size, except bytecode, which Python writes at any time."""
    total = hashlib.sha256()
    for base, inner, names in os.walk(folder):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(names):
            if name != folders.ENV_MARKER:
                path = os.path.join(base, name)  # noqa: PTH118 - tens of thousands of files
                total.update(f"{path[len(str(folder)) :]}\0{os.lstat(path).st_size}\n".encode())
    return total.hexdigest()


def _install(
    root: Path, aside: Path, spec: Specification, lock: bytes, on_line: Callable[[str], None] | None
) -> None:
    wheels = folders.locate_wheels(root, spec["lock_sha256"]) if spec["offline"] else None
    if wheels is not None:
        missing = list(find_lacking(read_pins(lock.decode(), platform.machine()), digest_folder(wheels)))
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise BuildError(
                f"The wheelhouse is not complete for {spec['lock']}: {missing[0]}{more}. "
                "Fix: run `rekindle bundle` for this host's plan.json again."
            )
    lock_file = aside.with_name(f"{aside.name}.txt")
    lock_file.write_bytes(lock)
    environ = _uv_environment(aside.parents[1], wheels)
    uv = str(root / folders.UV)
    python = str(aside / "bin" / "python")
    try:
        _run([uv, "venv", "--quiet", "--relocatable", "--python", spec["python"], str(aside)], environ)
        # Build dependencies of source distributions have to match the lock's digests too.
        locked = ["--require-hashes", "--build-constraints", str(lock_file), str(lock_file)]
        _run([uv, "pip", "sync", "--python", python, *locked], environ, on_line)
    finally:
        lock_file.unlink()
    packages = Path(_packages(python)[0])
    link_libraries(packages)
    if _needs_operators(lock.decode()):
        module = files("rekindle.environments").joinpath(f"{_OPERATORS}.py").read_bytes()
        (packages / f"{_OPERATORS}.py").write_bytes(module)
        (packages / f"{_OPERATORS}.pth").write_text(f"import {_OPERATORS}\n", encoding="utf-8")
    if spec["system_site"]:
        lender = dict.fromkeys(_packages(spec["python"]))
        (packages / "rekindle_system_site.pth").write_text("\n".join(lender) + "\n")


def _packages(python: str) -> list[str]:
    """Return the folders of a Python's packages: pure ones, then compiled ones."""
    paths = "import sysconfig; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('platlib'))"
    return _run([python, "-I", "-c", paths], select_for_jobs(os.environ)).splitlines()


def _needs_operators(lock: str) -> bool:
    """Whether torchvision is of another build than torch, so that its operators cannot be loaded."""
    versions = {pin.name: pin.version for pin in read_pins(lock, platform.machine())}
    torch, torchvision = versions.get("torch", ""), versions.get("torchvision", "+cpu")
    return torch.endswith("+cpu") and not torchvision.endswith("+cpu")


def _uv_environment(root: Path, wheels: Path | None) -> dict[str, str]:
    own = {
        "TMPDIR": str(root / folders.TMP),
        "UV_CACHE_DIR": str(root / folders.UV_CACHE),
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_CONFIG": "1",
    }
    if wheels is None:
        return make_uv_environment(select_for_installers(os.environ)) | own
    return (
        select_for_jobs(os.environ)
        | own
        | {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(wheels)}
    )


def _run(command: list[str], environ: dict[str, str], on_line: Callable[[str], None] | None = None) -> str:
    shown = f"`{' '.join(command[:3])} …`"
    try:
        process = subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
        )
    except OSError as error:
        raise BuildError(f"{shown} cannot be started: {error.strerror}. Fix: run the play again.") from None
    watchdog = threading.Timer(_LIMIT_S, process.kill)
    watchdog.start()
    lines = []
    with process:
        if process.stdout is None or process.stderr is None:
            raise RuntimeError("pipes were asked for")
        for line in process.stderr:
            lines.append(line)
            if on_line:
                on_line(line)
        answer = process.stdout.read()
    watchdog.cancel()
    if process.returncode == -signal.SIGKILL:
        raise BuildError(f"{shown} took longer than {_LIMIT_S} s. Fix: look at disk and network.")
    if process.returncode != 0:
        text = mask_credentials(" ".join(" ".join(lines).split()))[-1500:]
        raise BuildError(f"{shown} failed: {text.rstrip('.')}.")
    return answer
