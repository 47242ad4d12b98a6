# SPDX-License-Identifier: Apache-2.0
"""A job's own folders are added to PATH and PYTHONPATH, of which nothing is lost."""

import os

from msgspec.structs import replace

from rekindle.driver.command import environment
from rekindle.host.variables import path_from
from rekindle.records import Example, RunSpec, read


def test_a_jobs_folders_stand_after_the_environments_and_before_the_hosts(tmp_path, monkeypatch, recordings):
    spec = read(next(recordings.rglob("spec.json")), RunSpec)
    given = {"PATH": "tools:/opt/x:$PATH", "PYTHONPATH": "src"}
    spec = replace(spec, job=replace(spec.job, example=Example(command=("job.py",), environ=given)))
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("PYTHONPATH", "/p.zip")
    environ = environment(tmp_path, spec)
    assert environ["PATH"] == path_from(spec.python, {"PATH": f"{tmp_path}/job/tools:/opt/x:/usr/bin"})
    assert environ["PYTHONPATH"] == os.pathsep.join([str(tmp_path / "hook"), f"{tmp_path}/job/src", "/p.zip"])
    monkeypatch.delenv("PATH")
    assert environment(tmp_path, spec)["PATH"].endswith(f"/opt/x:{os.defpath}")
