# SPDX-License-Identifier: Apache-2.0
"""What a run is started with: its command, and the folders that a job adds to PATH and PYTHONPATH."""

import os

from msgspec.structs import replace

from rekindle.driver.command import make_job_command, make_job_environment
from rekindle.host.variables import make_path
from rekindle.records import Example, RunSpec, read_record


def test_a_jobs_folders_stand_after_the_environments_and_before_the_hosts(tmp_path, monkeypatch, recordings):
    spec = read_record(next(recordings.rglob("spec.json")), RunSpec)
    given = {"PATH": "tools:/opt/x:$PATH", "PYTHONPATH": "src"}
    spec = replace(spec, job=replace(spec.job, example=Example(command=("job.py",), environ=given)))
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("PYTHONPATH", "/p.zip")
    environ = make_job_environment(tmp_path, spec)
    assert environ["PATH"] == make_path(spec.python, {"PATH": f"{tmp_path}/job/tools:/opt/x:/usr/bin"})
    assert environ["PYTHONPATH"] == os.pathsep.join([str(tmp_path / "hook"), f"{tmp_path}/job/src", "/p.zip"])
    assert environ["MLFLOW_ALLOW_FILE_STORE"] == "true"
    monkeypatch.delenv("PATH")
    assert make_job_environment(tmp_path, spec)["PATH"].endswith(f"/opt/x:{os.defpath}")


def test_a_job_that_measures_its_host_is_given_all_of_its_gpus(tmp_path, recordings):
    spec = read_record(next(recordings.rglob("spec.json")), RunSpec)
    sites = (replace(spec.sites[0], gpus=("GPU-1", "GPU-2")),)
    spec = replace(spec, sites=sites, job=replace(spec.job, example=None, arguments={"minutes": 2.0}))
    assert make_job_command(tmp_path, spec) == [
        spec.python,
        "job.py",
        "--gpu",
        "[GPU-1,GPU-2]",
        "--minutes=2.0",
    ]
