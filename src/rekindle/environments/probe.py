# SPDX-License-Identifier: Apache-2.0
"""Lists what a built environment has and tests whether it works, in its own processes with a limit."""

import json
import os
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

from rekindle.host.variables import select_for_jobs

_LIMIT_S = 300
"""A first product may wait for kernels to be compiled from PTX."""
_COLLECTIVES = ("NcclAllReduce", "HierarchicalCopyAllReduce")


class ProbeError(RuntimeError):
    """An environment does not work; the text is one sentence."""

    def __init__(self, message: str, step: str = "product") -> None:
        """Fail in ``step``: ``product`` (or before it) or ``collective``."""
        super().__init__(message)
        self.step = step


def list_packages(python: Path, tmpdir: Path) -> dict[str, Any]:
    """Return ``python_version``, ``packages`` and ``system_site`` of an environment."""
    return _run(python, "inventory.py", [], tmpdir, [])


def probe_environment(python: Path, framework: str, gpus: list[str], tmpdir: Path) -> dict[str, Any]:
    """Probe an environment of ``framework``, extended or not; ``gpus`` are the UUIDs that it has to see.

    Returns:
        ``build`` (as the framework reports it), ``gpus``, ``collective``, and for TensorFlow the
        ``cross_device_ops`` that its jobs have to use.

    Raises:
        ProbeError: it or NVFlare does not import, or it lacks GPUs, computes wrongly or cannot communicate.
    """
    base = framework.partition("+")[0]
    if base not in {"tensorflow", "torch", "lightning", "transformers"}:
        return {}
    with ThreadPoolExecutor() as pool:
        imported = pool.submit(_run, python, "nvflare_probe.py", [], tmpdir, [])
        if base == "tensorflow":
            report = _tensorflow(python, tmpdir, gpus)
        else:
            report = _run(python, "torch_probe.py", [], tmpdir, gpus)
        imported.result()
    if len(report["gpus"]) != len(gpus):
        raise ProbeError(f"{framework} sees {len(report['gpus'])} GPUs and the host has {len(gpus)}")
    return report


def _tensorflow(python: Path, tmpdir: Path, gpus: list[str]) -> dict[str, Any]:
    failures: list[ProbeError] = []
    for operations in _COLLECTIVES if gpus else ("ReductionToOneDevice",):
        try:
            report = _run(python, "tensorflow_probe.py", [operations], tmpdir, gpus)
        except ProbeError as error:
            failures.append(error)
            continue
        return {**report, "cross_device_ops": operations, "failed": [str(failure) for failure in failures]}
    raise ProbeError("; ".join(map(str, failures)), failures[-1].step)


def _run(python: Path, script: str, arguments: list[str], tmpdir: Path, gpus: list[str]) -> dict[str, Any]:
    environ = {name: value for name, value in select_for_jobs(os.environ).items() if name != "PYTHONPATH"}
    environ |= {"TMPDIR": str(tmpdir), "PYTHONUTF8": "1", "TF_CPP_MIN_LOG_LEVEL": "1"}
    environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    name = " ".join([script, *arguments])
    environ["PYTHONDONTWRITEBYTECODE"] = ""  # the first run finds what was compiled here
    with tempfile.TemporaryDirectory(dir=tmpdir) as folder:
        path = Path(folder, script)
        path.write_bytes(files("rekindle.environments.probes").joinpath(script).read_bytes())
        process = subprocess.Popen(
            [python, str(path), *arguments],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            raise ProbeError(f"{name} hung for {_LIMIT_S} s", _step(output)) from None
    if process.returncode != 0:
        last = next((line for line in reversed(errors.splitlines()) if line.strip()), "no output")
        raise ProbeError(f"{name} failed: {last.strip()}", _step(output))
    report: dict[str, Any] = json.loads(output.splitlines()[-1])
    return report


def _step(output: str) -> str:
    """Return where a probe failed: it prints its GPUs once they have computed, and its report at the end."""
    return "collective" if output.strip() else "product"
