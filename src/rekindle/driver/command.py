"""What a run's own process is started with."""

import json
import os
import sys
from pathlib import Path

from rekindle.host import folders
from rekindle.host.variables import for_jobs, path_from
from rekindle.records import Example, Participant, RunSpec, to_builtins

_HOOK = "import rekindle.trainer.hook\n\nrekindle.trainer.hook.install()\n"


def command(run_dir: Path, spec: RunSpec) -> list[str]:
    """Return the command that starts the job in ``run_dir``, from its code's folder there."""
    if spec.job.example is not None:
        return [spec.python, "-m", "rekindle.trainer.example", str(run_dir / folders.SPEC), *_options(spec)]
    return [spec.python, "job.py", *job_arguments(spec)]


def job_arguments(spec: RunSpec) -> list[str]:
    """Return the options that a job.py of ours is called with."""
    gpu = ",".join(f"[{','.join(site.gpus or ['cpu'] * site.ranks)}]" for site in spec.sites)
    sites = ["--client_ids", *(site.name for site in spec.sites), "--gpu", gpu]
    return [*sites, "--num_rounds", str(spec.job.rounds), *_options(spec)]


def _options(spec: RunSpec) -> list[str]:
    words: list[str] = []
    for name, value in spec.job.arguments.items():
        if isinstance(value, tuple):
            words += [f"--{name}", *value]
        elif value is not False:
            words.append(f"--{name}" if value is True else f"--{name}={value}")
    return words


def environment(run_dir: Path, spec: RunSpec) -> dict[str, str]:
    """Return the variables that the job is started with.

    Server and clients see no GPU, and a site's own command gives its trainers theirs; an example, whose
    sites have no command of ours, sees all that the run was given. Each process keeps the bytecode that it
    compiles, as a run's many processes import the same libraries.
    """
    given = [uuid for site in spec.own_sites for uuid in site.gpus]
    turns = spec.job.when_short_of_gpus == "turns" and len(set(given)) < len(given)
    own = for_jobs(os.environ)
    processes = max(1, sum(site.ranks for site in spec.own_sites) // max(1, len(spec.nodes)))
    if not spec.nodes:  # on one of an allocation's, if any
        own.pop("SLURM_JOB_NUM_NODES", None)
    environ = {
        # Else every process takes every core, and they starve each other.
        "OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // processes)),
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
    if spec.participant is not None:
        environ |= _of_participant(run_dir, spec, spec.participant, environ)
    example = spec.job.example
    return environ if example is None else {**environ, **_of_example(run_dir, spec, example, environ)}


def _hooked(run_dir: Path, spec: RunSpec, environ: dict[str, str]) -> dict[str, str]:
    """Return the variables by which every Python process of the run loads our hook first."""
    hook = run_dir / folders.HOOK
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(_HOOK, encoding="utf-8")
    return {
        "PATH": path_from(spec.python, environ),
        "PYTHONPATH": f"{hook}{os.pathsep}{environ.get('PYTHONPATH', '')}",
        "REKINDLE_WORKSPACE": str(run_dir / folders.JOB / folders.WORKSPACE),
    }


def _of_participant(
    run_dir: Path, spec: RunSpec, participant: Participant, environ: dict[str, str]
) -> dict[str, str]:
    return {
        **_hooked(run_dir, spec, environ),
        "REKINDLE_PARTICIPANT": json.dumps(to_builtins(participant)),
        "REKINDLE_NODE": spec.host,
        **participant.environ,
    }


def _of_example(run_dir: Path, spec: RunSpec, example: Example, environ: dict[str, str]) -> dict[str, str]:
    data = str(run_dir / folders.DATA)
    return {
        **_hooked(run_dir, spec, environ),
        "CUDA_VISIBLE_DEVICES": ",".join(dict.fromkeys(gpu for site in spec.own_sites for gpu in site.gpus)),
        # An index on a command line is nvidia-smi's.
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "REKINDLE_DATA": data,
        **{name: value.replace("{data}", data) for name, value in example.environ.items()},
    }
