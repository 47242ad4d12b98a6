# SPDX-License-Identifier: Apache-2.0
"""From a recorded host to its plan.json, and to a plan that refuses everything."""

import re
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from runners.plays import REPOSITORY

from rekindle import jobs
from rekindle.capsule.specs import make_specs
from rekindle.environments.lockfile import read_pins
from rekindle.records import Engine, HostRecord, LeaseRecord, PlanRecord, read_record, write_record
from rekindle.records.job import Folders


@pytest.fixture
def plan(load, home):
    """Plan for the recorded host, which has no plan yet."""
    (home / "plan.json").unlink()

    def run(check=False, _low_level_execute_command=None, **more):
        args = {
            **{"folder": str(home), "jobs": ["pt_ddp"], "frameworks": [], "gpus_required": True},
            **{"pins": {}, "system_site": False, "nvflare": "2.7.3", "capsule": "", "wheelhouse": ""},
            **{"last": True, "checkout": "", "accept": "off"},
            **more,
        }
        task = SimpleNamespace(args=args, check_mode=check)
        parts = {"_low_level_execute_command": _low_level_execute_command, "_task": task}
        return load("make_plan").run(args, host="h200", **parts)

    return run


def _builds(home):
    environments = read_record(home / "plan.json", PlanRecord).environments
    return {planned.framework: planned.build and planned.build.version for planned in environments}


def test_a_plan_is_of_the_host_as_it_was_read(plan, home):
    assert "failed" not in plan()
    written = read_record(home / "plan.json", PlanRecord)
    assert written.host == "h200"
    assert list(_builds(home)) == ["torch"]


def test_each_environment_is_planned_once_and_the_highest_priority_is_first(plan, home, monkeypatch):
    from_file = jobs.load_job
    priorities = {"llm_sft": 5, "tf_mirrored": 5}

    def prioritised(folder, name):
        return replace(from_file(folder, name), priority=priorities.get(name, 0))

    monkeypatch.setattr(jobs, "load_job", prioritised)
    plan(jobs=["tensor_stream", "tf_mirrored", "pt_ddp", "llm_sft"], frameworks=["torch", "lightning"])
    written = read_record(home / "plan.json", PlanRecord)
    assert written.jobs == ("tf_mirrored", "llm_sft", "tensor_stream", "pt_ddp")
    assert sorted(_builds(home)) == ["lightning", "tensorflow", "torch", "transformers"]


def test_a_job_whose_data_are_not_there_is_known_before_anything_is_built(
    plan, home, shell, monkeypatch, tmp_path
):
    from_file, given = jobs.load_job, Folders(from_=f"{tmp_path}/site-{{n}}")
    monkeypatch.setattr(jobs, "load_job", lambda *names: replace(from_file(*names), data=given))
    (tmp_path / "site-1").mkdir()
    write_record(home / "lease.json", LeaseRecord(host="h200", started="2026-11-21T02:00:00Z", ends=None))
    result = plan(check=True, _low_level_execute_command=shell)
    assert result["msg"].startswith(
        f"h200 has no folder {tmp_path}/site-2, with the data of site-2 of pt_ddp. Fix: "
    )
    assert list(read_record(home / "plan.json", PlanRecord).lacking) == ["pt_ddp"]
    (tmp_path / "site-2").mkdir()
    assert "failed" not in plan(check=True, _low_level_execute_command=shell)


def test_one_environment_that_cannot_be_had_is_a_warning_and_none_a_failure(plan, home):
    result = plan(jobs=["pt_ddp", "tf_mirrored"], pins={"tensorflow": "1.0"})
    assert "failed" not in result
    assert any("tensorflow is pinned to 1.0; " in warning for warning in result["warnings"])
    assert _builds(home)["tensorflow"] is None
    assert _builds(home)["torch"]
    result = plan(pins={"torch": "1.0"})
    assert result["failed"]
    assert "torch is pinned to 1.0; " in result["msg"]
    assert _builds(home) == {"torch": None}


def test_a_capsule_is_held_or_refused_and_the_user_s_pins_go_before_its_own(plan, home, recordings):
    capsule, lock = str(recordings / "h200-x2"), "torch-system-py312.txt"
    assert "failed" not in plan(capsule=capsule, system_site=True)
    assert read_record(home / "plan.json", PlanRecord).environments[0].build.lock == lock
    assert f"The capsule's {lock} cannot be rebuilt here: " in plan(capsule=capsule)["msg"]
    assert _builds(home) == {"torch": None}
    assert "torch is pinned to 1.0; " in plan(capsule=capsule, pins={"torch": "1.0"})["msg"]


def test_what_is_not_there_fails_without_a_plan(golden, plan, home):
    lines = [plan(jobs=["nothing"])["msg"], plan(capsule="/nowhere")["msg"]]
    (home / "host.json").write_text("{")
    lines.append(plan()["msg"])
    (home / "host.json").unlink()
    golden(*lines, plan()["msg"])
    assert not (home / "plan.json").exists()


def test_a_wheelhouse_that_lacks_a_lock_fails_and_leaves_the_plan_to_be_bundled(plan, home, tmp_path):
    printed = plan(wheelhouse=str(tmp_path / "wheels"))["msg"]
    assert re.match(r"rekindle_wheelhouse is '.*', which has 0 of the \d+ files of driver\.txt\. ", printed)
    assert printed.endswith(f" Fix: rekindle bundle {home / 'plan.json'} -o {tmp_path / 'wheels'}")
    for spec in make_specs(
        read_record(home / "plan.json", PlanRecord), read_record(home / "host.json", HostRecord)
    ):
        folder = tmp_path / "wheels" / spec["lock_sha256"][:12]
        folder.mkdir(parents=True)
        for number, _ in enumerate(read_pins(spec["lock_text"], "x86_64")):
            (folder / f"{number}.whl").touch()
    assert "failed" not in plan(wheelhouse=str(tmp_path / "wheels"))
    (folder / "0.whl").unlink()
    assert f" files of {spec['lock']}. " in plan(wheelhouse=str(tmp_path / "wheels"))["msg"]


@pytest.mark.parametrize(
    "asked", [{"check": True, "last": True}, {"check": True, "last": False}, {"check": False, "last": True}]
)
def test_under_check_the_last_stage_holds_a_host_to_what_its_jobs_need(plan, home, asked):
    lease = LeaseRecord(host="h200", started="2026-11-21T02:00:00Z", ends="2026-11-21T03:00:00Z")
    write_record(home / "lease.json", lease)
    assert ("pt_ddp takes about " in plan(**asked).get("msg", "")) is all(asked.values())
    assert _builds(home)["torch"]
    write_record(home / "lease.json", replace(lease, ends=None))
    assert "failed" not in plan(**asked)


def test_jobs_of_the_users_own_are_planned_by_name_and_found_by_path(plan, home, monkeypatch):
    monkeypatch.chdir(REPOSITORY / "tests")
    assert "failed" not in plan(jobs=["pt_ddp", "lookalikes/own/fitted_line/job.yml"])
    written = read_record(home / "plan.json", PlanRecord)
    assert written.jobs == ("pt_ddp", "fitted_line")
    assert written.own == {"fitted_line": f"{REPOSITORY}/tests/lookalikes/own/fitted_line/job.yml"}
    assert list(_builds(home)) == ["torch", "torch+vision"]


def test_an_example_that_the_checkout_has_no_more_stops_no_plan_and_is_reported_under_check(
    plan, home, tmp_path
):
    write_record(home / "lease.json", LeaseRecord(host="h200", started="2026-11-21T02:00:00Z", ends=None))
    (tmp_path / "NVFlare" / "examples" / "hello-world" / "hello-numpy").mkdir(parents=True)
    asked = {"jobs": ["examples/hello-numpy", "examples/fedavg-early-stopping"]}
    asked["checkout"] = str(tmp_path / "NVFlare")
    assert "failed" not in plan(**asked)
    printed = plan(check=True, **asked)
    assert printed["failed"]
    assert "has no examples/advanced/fedavg-with-early-stopping any more" in printed["msg"]
    assert list(read_record(home / "plan.json", PlanRecord).lacking) == ["fedavg-early-stopping"]
    assert "Fix: Name a folder with NVFlare checked out at f8ee79e3b in rekindle_nvf" in printed["msg"]


DOCKER = Engine(path="/usr/bin/docker", version="29.0.1", nvidia=True)


@pytest.mark.parametrize("engines", [(), (DOCKER,)])
def test_the_images_of_jobs_that_could_run_there_are_planned(plan, home, tmp_path, engines):
    (tmp_path / "NVFlare" / "examples" / "advanced" / "bionemo" / "downstream").mkdir(parents=True)
    write_record(home / "host.json", replace(read_record(home / "host.json", HostRecord), engines=engines))
    plan(jobs=["pt_ddp", "examples/bionemo-tap"], checkout=str(tmp_path / "NVFlare"))
    image = "nvcr.io/nvidia/clara/bionemo-framework:2.5"
    assert read_record(home / "plan.json", PlanRecord).images == (image,) * len(engines)


@pytest.mark.parametrize(
    ("accept", "planned", "environments"),
    [
        ("short", ["acceptance", "pt_ddp"], ["torch"]),
        ("burn", ["acceptance-burn", "lightning_ddp"], ["lightning"]),
        ("short", ["acceptance", "tf_mirrored"], ["tensorflow", "torch"]),
        ("off", ["pt_ddp"], ["torch"]),
    ],
)
def test_gpus_are_measured_first_with_any_torch(plan, home, accept, planned, environments):
    assert "failed" not in plan(jobs=planned[-1:], accept=accept)
    assert list(read_record(home / "plan.json", PlanRecord).jobs) == planned
    assert list(_builds(home)) == environments


@pytest.mark.parametrize("fields", [{"mig": True}, {"uuid": None}, {"state": "lost"}, None])
def test_a_host_without_gpus_that_a_job_could_have_is_not_measured(plan, home, fields):
    host = read_record(home / "host.json", HostRecord)
    gpus = tuple(replace(gpu, **fields) for gpu in host.gpus) if fields else ()
    write_record(home / "host.json", replace(host, gpus=gpus, driver=host.driver if fields else None))
    plan(accept="short", gpus_required=False)
    assert read_record(home / "plan.json", PlanRecord).jobs == ("pt_ddp",)


def test_a_script_that_is_no_python_is_planned_to_run_nowhere(plan, home, tmp_path, monkeypatch):
    monkeypatch.setattr("rekindle.jobs.obstacles.sys", SimpleNamespace(version_info=(3, 12)))  # as the host's
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "job.py").write_text("import torch\nfor site in sites\n")
    plan(jobs=[f"{tmp_path}/mine"])
    lacking = read_record(home / "plan.json", PlanRecord).lacking
    assert lacking["mine"].startswith(f"{tmp_path}/mine/job.py:2 is no Python")
