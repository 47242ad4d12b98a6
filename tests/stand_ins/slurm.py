# SPDX-License-Identifier: Apache-2.0
"""A stand-in for SLURM's commands: steps whose tasks run here, each told that it is on another node."""

import stat
import sys

_COMMAND = '''#!{python}
"""Stands in for SLURM's commands; a job starts at once, a step is a file: its name, its tasks' PIDs."""
import os, signal, subprocess, sys, time
from pathlib import Path

for name, value in {given}.items():
    os.environ.setdefault(name, value)
STATE = Path(os.environ["SLURM_STAND_IN"])
options = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))


def srun():
    words = iter(sys.argv[1:])
    command = next([word, *words] for word in words if not word.startswith("--"))
    given = {{word[2:].partition("=")[0]: word.partition("=")[2] for word in sys.argv[1 : -len(command)]}}
    nodes = (given.get("nodelist") or os.environ["SLURM_JOB_NODELIST"]).split(",")
    (STATE / "calls").open("a").write(" ".join(sys.argv[1:]) + "\\n")
    tasks = []
    for number, node in enumerate(nodes):
        environ = {{**os.environ, "SLURMD_NODENAME": node, "SLURM_NODEID": str(number)}}
        environ["CUDA_VISIBLE_DEVICES"] = "as SLURM has it"
        tasks.append(subprocess.Popen(command, env=environ, start_new_session=True))
    step = STATE / f"step-{{os.environ['SLURM_JOB_ID']}}.{{os.getpid()}}"
    step.write_text("\\n".join([given["job-name"], *(str(task.pid) for task in tasks)]))

    def end(number, frame):
        for task in tasks:
            task.poll() is None and os.killpg(task.pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    status = 0
    while tasks:
        for task in [task for task in tasks if task.poll() is not None]:
            tasks.remove(task)
            if task.returncode and not status:
                status = task.returncode if task.returncode > 0 else 128 - task.returncode
                end(None, None)
        time.sleep(0.02)
    step.unlink()
    sys.exit(status)


def sbatch():
    with Path(sys.argv[-1]).with_name("batch.log").open("wb") as log:
        none = subprocess.DEVNULL
        subprocess.Popen(["sh", sys.argv[-1]], stdin=none, stdout=log, stderr=log, start_new_session=True)
    print(os.environ["SLURM_JOB_ID"])


def scontrol():
    print("\\n".join(sys.argv[-1].split(",")))


def squeue():
    for step in STATE.glob("step-*"):
        print(step.name[5:], step.read_text().splitlines()[0])


def scancel():
    number = signal.SIGTERM if "--signal=TERM" in sys.argv else signal.SIGKILL
    for name in sys.argv[1:]:
        if (STATE / f"step-{{name}}").exists():
            for pid in (STATE / f"step-{{name}}").read_text().splitlines()[1:]:
                try:
                    os.killpg(int(pid), number)
                except ProcessLookupError:
                    pass


globals()[Path(sys.argv[0]).name]()
'''


def stand_in(folder, here, nodes, job=7):
    """Put the commands into ``folder``; returns the variables of a process on node ``here`` of ``nodes``."""
    (folder / "bin").mkdir(parents=True)
    (folder / "state").mkdir()
    given = {
        "PATH": f"{folder}/bin:/usr/bin:/bin",
        "SLURM_STAND_IN": str(folder / "state"),
        "SLURM_JOB_ID": str(job),
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "REKINDLE_LAUNCHER": "rekindle.slurm.launch",
        "SLURM_JOB_NODELIST": ",".join(nodes),
        "SLURMD_NODENAME": here,
    }
    for name in ("sbatch", "srun", "scontrol", "squeue", "scancel"):
        path = folder / "bin" / name
        path.write_text(_COMMAND.format(python=sys.executable, given=given))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return given
