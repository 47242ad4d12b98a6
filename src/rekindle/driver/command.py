# SPDX-License-Identifier: Apache-2.0
"""What a run's own process is started with."""

import os
import sys
from pathlib import Path

from rekindle.host import folders
from rekindle.host.cores import count_cores
from rekindle.host.variables import make_path, select_for_jobs
from rekindle.records import Example, RunSpec

_STARTER = "rekindle.trainer.example"
_HOOK = "import rekindle.trainer.hook\n\nrekindle.trainer.hook.install_hook()\n"


def make_job_command(run_dir: Path, spec: RunSpec) -> list[str]:
    """Return the command that starts the job in ``run_dir``, from its code's folder there."""
    if spec.job.example is None:  # it measures its host's GPUs
        gpus = ",".join(gpu for site in spec.sites for gpu in site.gpus or ["cpu"] * site.ranks)
        words = (word.replace("{devices}", f"[{gpus}]") for word in spec.job.command)
        return [spec.python, *words, *_options(spec)]
    return [spec.python, "-m", _STARTER, str(run_dir / folders.SPEC), *_options(spec)]


def _options(spec: RunSpec) -> list[str]:
    words: list[str] = []
    for name, value in spec.job.arguments.items():
        if isinstance(value, tuple):
            words += [f"--{name}", *value]
        elif value is not False:
            words.append(f"--{name}" if value is True else f"--{name}={value}")
    return words


def make_job_environment(run_dir: Path, spec: RunSpec) -> dict[str, str]:
    """Return the variables that the job is started with.

    A job.py that gives each rank its GPU sees none itself, nor do NVFlare's server and clients; any other
    sees all that the run was given. Each process keeps the bytecode that it compiles, as a run's many
    processes import the same libraries.
    """
    given = [uuid for site in spec.own_sites for uuid in site.gpus]
    turns = spec.job.when_short_of_gpus == "turns" and len(set(given)) < len(given)
    own = select_for_jobs(os.environ)
    processes = max(1, sum(site.ranks for site in spec.own_sites) // max(1, len(spec.nodes)))
    environ = {
        # Else every process takes every core, and they starve each other.
        "OMP_NUM_THREADS": str(max(1, count_cores() // processes)),
        # NVFlare's receiver writes a folder of files by default, which mlflow refuses since 3.17.
        "MLFLOW_ALLOW_FILE_STORE": "true",
        **own,
        **({"REKINDLE_TURN": str(run_dir / "turn.lock")} if turns else {}),
        "CUDA_VISIBLE_DEVICES": "",
        "TMPDIR": spec.tmpdir,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        "REKINDLE_EVIDENCE": str(run_dir / folders.EVIDENCE),
        "REKINDLE_NONCE": spec.nonce,
        "REKINDLE_DRIVER": sys.executable,
        "REKINDLE_CROSS_DEVICE_OPS": spec.cross_device_ops or "",
    }
    if spec.job.example is not None:
        environ |= _of_federated(run_dir, spec, spec.job.example, environ)
    return environ


def _of_federated(run_dir: Path, spec: RunSpec, example: Example, environ: dict[str, str]) -> dict[str, str]:
    """Return the variables by which every Python process of the run loads our hook first, and its own."""
    hook, data = run_dir / folders.HOOK, str(run_dir / folders.DATA)
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(_HOOK, encoding="utf-8")
    given = {name: value.replace("{data}", data) for name, value in example.environ.items()}
    paths = {name: _folders(run_dir, name, given.get(name, "")) for name in ("PATH", "PYTHONPATH")}
    gpus = dict.fromkeys(gpu for site in spec.own_sites for gpu in site.gpus)
    return {
        "CUDA_VISIBLE_DEVICES": "" if spec.job.assigns_gpus else ",".join(gpus),
        # An index on a command line is nvidia-smi's.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "REKINDLE_DATA": data,
        **given,
        "PATH": make_path(
            spec.python, {"PATH": os.pathsep.join([*paths["PATH"], environ.get("PATH", os.defpath)])}
        ),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(hook), *paths["PYTHONPATH"], environ.get("PYTHONPATH")])
        ),
        "REKINDLE_WORKSPACE": str(run_dir / folders.JOB / folders.WORKSPACE),
    }


def _folders(run_dir: Path, name: str, value: str) -> list[str]:
    """Return the folders that a job adds to the path of that ``name``; relative ones are of its code."""
    rest = {"", f"${name}", f"${{{name}}}"}  # which is there in any case
    return [str(run_dir / folders.JOB / path) for path in value.split(os.pathsep) if path not in rest]
