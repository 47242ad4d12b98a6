# SPDX-License-Identifier: Apache-2.0
"""What of Rekindle runs on a host, and how it is ended."""

import json
import os
import subprocess
import sys
import time

import pytest
from runners.commands import capture_command

from rekindle.host import leftovers
from rekindle.host.engines import name_container


@pytest.fixture
def root(tmp_path):
    """Return the root of a host on which a job has run."""
    root = tmp_path / "rekindle"
    for name in ("envs", "logs/environments", "logs/fabric", "runs/toy-0123456789ab"):
        (root / name).mkdir(parents=True)
    (root / "logs/environments/log.txt").write_text("installed")
    return root


def hold(path):
    code = "import fcntl, sys, time; lock = open(sys.argv[1]); fcntl.flock(lock, 2); print(flush=True); "
    path.touch()
    process = subprocess.Popen([sys.executable, "-c", f"{code}time.sleep(99)", path], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.read(1)
    return process


def test_a_run_or_a_build_that_goes_on_is_named(root):
    assert leftovers.find_running(root) == []
    holders = [hold(root / "runs/toy-0123456789ab/driver.lock"), hold(root / "logs/environments/lock")]
    try:
        assert leftovers.find_running(root) == ["environments", "toy-0123456789ab"]
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()
    assert leftovers.find_running(root) == []


def test_a_run_or_a_build_that_slurm_has_is_named_and_cancelled(root, queue):
    folders = [root / "logs/environments", root / "logs/fabric", root / "runs/toy-0123456789ab"]
    for number, folder in enumerate(folders):
        (folder / "queue.json").write_text(json.dumps({"room": "slurm", "job": str(number)}))
    queue.set("squeue", "PENDING|Resources|N/A\n")
    assert leftovers.find_running(root) == ["environments", "fabric", "toy-0123456789ab"]
    took = root.parent / "cancelled"
    queue.put("scancel", f"#!/bin/sh\necho $* >> {took}\necho '#!/bin/sh' > {queue.folder}/squeue\n")
    leftovers.end_processes(root)
    assert took.read_text().split() == ["0", "1", "2"]
    assert leftovers.find_running(root) == []


def test_the_container_of_each_run_is_killed_and_removed_by_its_engine(root):
    asked, engine = root.parent / "asked", root.parent / "podman"
    engine.write_text(f'#!/bin/sh\necho "$@" >>{asked}\n')
    engine.chmod(0o755)
    specs = {"toy-0123456789ab": {"engine": {"name": "podman", "path": str(engine)}}}
    specs |= {"old": {"docker": None}, "plain": {"engine": None}}
    specs["odd"] = {"engine": {"name": "rkt", "path": "/"}}
    for name, spec in specs.items():
        (root / "runs" / name).mkdir(exist_ok=True)
        (root / "runs" / name / "spec.json").write_text(json.dumps(spec))
    leftovers.end_processes(root)
    container = name_container(root / "runs" / "toy-0123456789ab")
    assert asked.read_text().splitlines() == [f"kill {container}", f"rm --force {container}"]


def test_what_was_started_out_of_the_root_ends_also_a_stubborn_one_and_nothing_else(root):
    python = root / "envs" / "python"
    python.symlink_to(sys.executable)
    deaf = "import signal as s, time; s.signal(s.SIGTERM, s.SIG_IGN); print(flush=True); time.sleep(99)"
    ours = subprocess.Popen([python, "-c", deaf], stdout=subprocess.PIPE)
    runs = {**os.environ, "REKINDLE_EVIDENCE": f"{root}/runs/toy-0123456789ab/evidence"}
    trainer = subprocess.Popen(["sleep", "99"], env=runs)
    reader = subprocess.Popen(["tail", "-f", root / "logs/environments/log.txt"], stdout=subprocess.DEVNULL)
    assert ours.stdout
    ours.stdout.read(1)
    try:
        leftovers.end_processes(root)
        assert ours.wait(5) == -9
        assert trainer.wait(5) == -15
        time.sleep(0.1)
        assert reader.poll() is None
    finally:
        for process in (ours, trainer, reader):
            process.kill()
            process.wait()


def test_what_ends_the_rest_may_run_on_a_python_of_the_root_itself(root):
    python = root / "envs" / "python"
    python.symlink_to(sys.executable)
    code = "import sys; from pathlib import Path; from rekindle.host.leftovers import end_processes\n"
    code += "end_processes(Path(sys.argv[1])); print('ended')"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = capture_command([python, "-c", code, root], env=environ)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
