# SPDX-License-Identifier: Apache-2.0
"""The actions of plugins/, each loaded from its file and run without Ansible around it."""

import shutil
import subprocess
import sys
import zipfile
from datetime import datetime, timedelta, timezone
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.plugins.action import ActionBase
from runners.plays import REPOSITORY

from rekindle.jobs import lease


class Plugin:
    """One action; its ``module`` is the test's own, to be patched."""

    def __init__(self, name):
        spec = spec_from_file_location(name, REPOSITORY / "plugins" / "action" / f"{name}.py")
        self.module = module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def make(self, args, **parts):
        """Return the action with ``parts`` of Ansible's in it, by the names that ActionBase gives them."""
        action = self.module.ActionModule.__new__(self.module.ActionModule)
        task = SimpleNamespace(args=dict(args), check_mode=False)
        vars(action).update({"_task": task, **parts})
        return action

    def run(self, args, host="somewhere", **parts):
        """Return the result of a task on ``host`` with these arguments, which Ansible checks."""
        return self.make(args, **parts).run(task_vars={"inventory_hostname": host})


@pytest.fixture
def load(monkeypatch):
    """Return what loads an action by its name."""
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp, task_vars: {})
    return Plugin


@pytest.fixture
def shell():
    """Return what runs here the command that a host is asked to run."""

    def execute(command, in_data=None, **_):
        done = subprocess.run(command, shell=True, input=in_data, capture_output=True, check=False)
        return {"rc": done.returncode, "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}

    return execute


@pytest.fixture
def on_host(brought, shell):
    """Return what place_job is given of a host: its arguments, and how to ask it."""
    return {"payload": brought, "python": sys.executable}, {"_low_level_execute_command": shell}


@pytest.fixture
def brought(home):
    """Return a payload on the host, which has the code of four jobs."""
    payload = home.parent / "payload" / "rekindle-0123456789ab.zip"
    payload.parent.mkdir()
    with zipfile.ZipFile(payload, "w") as archive:
        for job in ("pt_ddp", "line", "bionemo-tap", "acceptance"):
            archive.writestr(f"flare_jobs/{job}/client.py", "pass\n")
    return f"/tmp/rekindle/jobs/{payload.name}"


@pytest.fixture
def home(tmp_path, recordings):
    """Return a host's folder of results, with the host.json, plan.json and env.json of two H200."""
    return Path(shutil.copytree(recordings / "h200-x2", tmp_path / "results" / "h200"))


@pytest.fixture
def place(load, home, on_host, own_state):
    """Place a job, of a user who has sent nothing before, on the recorded host."""
    now = datetime.now(timezone.utc)
    lease.write_lease(home, "h200", now, None)

    def run(job="pt_ddp", left_s=None, execute=None, **more):
        if left_s is not None:
            lease.write_lease(home, "h200", now, now + timedelta(seconds=left_s))
        args = {
            **{"folder": str(home), "job": job, "tmpdir": "/tmp/rekindle/tmp", "arguments": {}, "sizes": {}},
            **{"rerun": False, "max_age": "", "checkout": "", "gate": "host"},
            **on_host[0],
            **more,
        }
        parts = {"_low_level_execute_command": execute} if execute else on_host[1]
        return load("place_job").run(args, host="h200", **parts)

    return run
