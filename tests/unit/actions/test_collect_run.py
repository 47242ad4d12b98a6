"""Bringing a run home: two at once do not take each other's archive away, and none stays on the host."""

import os
import shutil
import subprocess
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.plugins.action import ActionBase

from rekindle.host.archive import unpack
from rekindle.records import PlacedRecord, RunSpec, read, write

SOURCE = Path(__file__).parents[3] / "plugins" / "action" / "collect_run.py"
PAYLOAD = SOURCE.parents[2] / "src"
SENT = read(Path(__file__).parents[2] / "recordings/runs/pt_ddp-cpu-2/spec.json", RunSpec)


@pytest.fixture
def collect(tmp_path, monkeypatch):
    """Return what collects tmp_path/run to a folder, with ``between`` done before it fetches."""
    spec = spec_from_file_location("collect_run", SOURCE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    shown = []
    monkeypatch.setattr(module, "Display", lambda: SimpleNamespace(display=shown.append))
    monkeypatch.setattr(module.home, "keep", lambda packed, dest, *rest: unpack(packed, dest))
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp, task_vars: {})

    def execute(command):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        return {"rc": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    def run(dest, between=lambda: None):
        placed = PlacedRecord(run=str(tmp_path / "run"), payload=str(PAYLOAD), spec=SENT)
        write(tmp_path / f"{dest}.placed.json", placed)
        told = {"job": dest, "python": sys.executable, "home": str(tmp_path)}
        action = module.ActionModule.__new__(module.ActionModule)
        action.validate_argument_spec = lambda spec: (None, told)
        action._low_level_execute_command = execute
        action._connection = SimpleNamespace(fetch_file=lambda *names: (between(), shutil.copy(*names)))
        return action.run(task_vars={"inventory_hostname": "somewhere"}), shown

    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "a").write_text("1")
    return run


def test_two_collect_one_run_at_once(collect, tmp_path):
    assert collect("one", lambda: collect("two")) == ({}, [])
    assert (tmp_path / "one/a").read_text() == (tmp_path / "two/a").read_text() == "1"
    assert list(tmp_path.glob("*.tar.gz")) == []


def test_what_stays_on_the_host_is_said(collect, tmp_path):
    os.mkfifo(tmp_path / "run" / "pipe")
    assert collect("one")[1] == ["somewhere one: stayed on the host: pipe (it is no regular file)"]


def test_what_a_killed_collector_left_on_the_host_goes(collect, tmp_path):
    for name in ("run.1.tar.gz", "run.2.tar.gz"):
        (tmp_path / name).touch()
    os.utime(tmp_path / "run.1.tar.gz", (time.time(), time.time() - 9000))
    assert collect("one")[0] == {}
    assert [path.name for path in tmp_path.glob("*.tar.gz")] == ["run.2.tar.gz"]
