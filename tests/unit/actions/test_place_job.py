# SPDX-License-Identifier: Apache-2.0
"""Placing a job: what is sent of one that runs, and the verdict on one that cannot."""

import hashlib
import shutil
import zipfile

import pytest
from msgspec.structs import replace
from runners.plays import REPOSITORY
from samples.folders import PASS

from rekindle import jobs
from rekindle.host.payload import digest_payload
from rekindle.records import (
    Engine,
    EnvRecord,
    HostRecord,
    Image,
    ImagesRecord,
    Norm,
    Norms,
    PlacedRecord,
    PlanRecord,
    VerdictRecord,
    dump_builtins,
    read_record,
    write_record,
)
from rekindle.records.job import Folders
from rekindle.results import collection as results
from rekindle.results import seal, state


def _assert_no_run(home, job, verdict, cause):
    answer = read_record(home / job / "verdict.json", VerdictRecord)
    assert (answer.verdict, answer.host, answer.job) == (verdict, "h200", job)
    assert cause in answer.cause
    assert answer.remedy
    assert f"{home.name}/{job}/verdict.json" in seal.read_seal(home.parent).digests
    assert not results.locate_placed(home, job).exists()


def test_a_job_that_can_run_is_placed(place, home, brought):
    result = place(arguments={"pt_ddp": {"local_epoch": 3}, "llm_sft": {"batch_size": 1}})
    placed = read_record(home / "pt_ddp.placed.json", PlacedRecord)
    assert result == {"spec": dump_builtins(placed.spec), "run": placed.run, "finished": False}
    assert placed.payload == brought
    assert placed.run.startswith("/tmp/rekindle/runs/pt_ddp-")
    assert (placed.spec.host, placed.spec.job.arguments["local_epoch"]) == ("h200", 3)
    assert state.read_sent("h200", placed.run) == placed.spec
    assert placed.spec.nonce
    assert not (home / "pt_ddp").exists()


def test_what_is_sent_has_the_digest_of_each_file_and_the_host_s_clock(place):
    sent = place()["spec"]
    assert sent["files"] == {"client.py": hashlib.sha256(b"pass\n").hexdigest()}
    assert abs(sent["clock"]["offset_s"]) < 30
    assert place()["spec"]["clock"] == sent["clock"]  # as long as its nonce counts


def test_a_host_that_does_not_print_its_time_runs_nothing(place, home):
    result = place(execute=lambda command: {"rc": 0, "stdout": "noon", "stderr": ""})
    assert result["msg"].startswith("The host does not report its time. Fix: ")
    assert not results.locate_placed(home, "pt_ddp").exists()


def test_a_lease_shortens_the_job_and_not_its_name(place, home):
    unlimited = place()
    limited = place(left_s=200)
    assert limited["run"] == unlimited["run"]
    assert limited["spec"]["job"]["limit_s"] < unlimited["spec"]["job"]["limit_s"]
    assert 100 < limited["spec"]["job"]["limit_s"] <= 140


def test_a_job_without_an_environment_is_unsupported_with_its_cause(place, home):
    assert place("tf_mirrored") == {}
    _assert_no_run(home, "tf_mirrored", "UNSUPPORTED", "h200 has no tensorflow environment.")
    plan = read_record(home / "plan.json", PlanRecord)
    why = {"framework": "tensorflow", "build": None, "refusal": "No build fits. Fix: another driver."}
    refused = replace(plan.environments[0], **why)
    write_record(home / "plan.json", replace(plan, environments=(*plan.environments, refused)))
    assert place("tf_mirrored") == {}
    _assert_no_run(home, "tf_mirrored", "UNSUPPORTED", "No build fits.")


def test_a_job_that_the_hosts_gpus_cannot_hold_is_unsupported(place, home, monkeypatch):
    host = read_record(home / "host.json", HostRecord)
    write_record(home / "host.json", replace(host, gpus=host.gpus[:1]))
    job = jobs.load_planned_job
    alone = {"when_short_of_gpus": "unsupported"}
    monkeypatch.setattr(jobs, "load_planned_job", lambda *names: replace(job(*names), **alone))
    assert place() == {}
    _assert_no_run(home, "pt_ddp", "UNSUPPORTED", "pt_ddp needs 4 GPUs (2 sites × 2) and h200 has 1: ")


def test_an_example_that_the_checkout_has_no_more_is_unsupported(place, home, tmp_path):
    (tmp_path / "NVFlare" / "examples").mkdir(parents=True)
    assert place("examples/fedavg-early-stopping", checkout=str(tmp_path / "NVFlare")) == {}
    why = "no examples/advanced/fedavg-with-early-stopping any more: 2.7.0 and 2.7.1 had it"
    _assert_no_run(home, "fedavg-early-stopping", "UNSUPPORTED", why)


def test_a_job_whose_data_are_not_there_is_unsupported(place, home, monkeypatch, tmp_path):
    job = jobs.load_planned_job
    given = Folders(from_=f"{tmp_path}/site-{{n}}")
    monkeypatch.setattr(jobs, "load_planned_job", lambda *names: replace(job(*names), data=given))
    (tmp_path / "site-1").mkdir()
    assert place() == {}
    why = f"h200 has no folder {tmp_path}/site-2, with the data of site-2 of pt_ddp."
    _assert_no_run(home, "pt_ddp", "UNSUPPORTED", why)
    (tmp_path / "site-2").mkdir()
    assert place()["spec"]["job"]["data"]["from"] == f"{tmp_path}/site-{{n}}"
    given = Folders(from_="/nowhere/site-{n}", where="controller")
    assert place()["spec"]["job"]["data"]["where"] == "controller"


IMAGE = "nvcr.io/nvidia/clara/bionemo-framework:2.5"
HAD = Image(name=IMAGE, id="sha256:0123")
UNKNOWN_IMAGE = f"It is not known whether h200 has the image {IMAGE}."
NOT_HAD = Image(name=IMAGE, message="h200 cannot pull it: no such host.", fix="give it its network.")


@pytest.fixture
def place_bionemo(place, home, tmp_path):
    """Place an example that runs in a container, on a host with an engine that has ``images``."""
    (tmp_path / "NVFlare" / "examples" / "advanced" / "bionemo" / "downstream").mkdir(parents=True)
    engine = Engine(path="/usr/bin/docker", version="29.0.1", nvidia=True)
    write_record(home / "host.json", replace(read_record(home / "host.json", HostRecord), engines=(engine,)))

    def run(images):
        if images is not None:
            write_record(home / "images.json", ImagesRecord(host="h200", images=images))
        return place("examples/bionemo-tap", checkout=str(tmp_path / "NVFlare"))

    return run


def test_a_job_in_a_container_is_placed_with_its_images_digest(place_bionemo):
    spec = place_bionemo((HAD,))["spec"]
    assert (spec["engine"]["path"], spec["versions"]["image"]) == ("/usr/bin/docker", IMAGE)
    assert spec["versions"]["image id"] == "sha256:0123"
    assert place_bionemo((replace(HAD, id="sha256:4567"),))["run"] != place_bionemo((HAD,))["run"]


@pytest.mark.parametrize(
    ("images", "why"),
    [((NOT_HAD,), NOT_HAD.message), ((), UNKNOWN_IMAGE), (None, UNKNOWN_IMAGE)],
)
def test_a_job_whose_image_could_not_be_had_is_unsupported_and_no_other(
    place_bionemo, place, home, images, why
):
    assert place_bionemo(images) == {}
    _assert_no_run(home, "bionemo-tap", "UNSUPPORTED", why)
    assert place()["run"]


@pytest.mark.parametrize(
    ("left_s", "why"),
    [(-5, ", and the lease has ended."), (0, ", and the lease has ended."), (100, " and ")],
)
def test_a_job_with_too_little_time_is_skipped(place, home, left_s, why):
    assert place(left_s=left_s) == {}
    _assert_no_run(home, "pt_ddp", "SKIPPED", f"pt_ddp takes about 60 s{why}")
    assert not (state.make_state_folder() / "sent").exists()


@pytest.mark.parametrize("before", ["SKIPPED", "FAIL", "broken"])
def test_a_verdict_other_than_pass_is_gone_once_the_job_is_placed(place, home, before):
    place(left_s=0)
    path = home / "pt_ddp" / "verdict.json"
    if before == "broken":
        path.write_text("{")
    else:
        write_record(path, replace(read_record(path, VerdictRecord), verdict=before))
    place(left_s=9000)
    assert not path.exists()
    assert not seal.read_seal(home.parent).digests


def test_a_pass_stays_with_its_seal(place, home):
    write_record(home / "pt_ddp" / "verdict.json", PASS)
    seal.seal_run(home / "pt_ddp")
    assert place()["run"]
    assert read_record(home / "pt_ddp" / "verdict.json", VerdictRecord) == PASS
    assert "h200/pt_ddp/verdict.json" in seal.read_seal(home.parent).digests


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ("/tmp/rekindle/tmp", "/tmp/rekindle/tmp"),
        ("/scratch", "/scratch/rekindle-u"),
        ("~/scratch", "/home/u/scratch/rekindle-u"),
        ("/tmp/rekindle-of-others", "/tmp/rekindle-of-others/rekindle-u"),
    ],
)
def test_tmpdir_outside_of_the_root_is_a_folder_of_our_own(place, given, folder):
    assert place(tmpdir=given)["spec"]["tmpdir"] == folder


@pytest.mark.parametrize("name", ["host.json", "plan.json", "env.json", "lease.json"])
def test_without_a_whole_record_it_fails(place, home, name):
    (home / name).write_text("{")
    assert f"{home / name} is not a valid " in place()["msg"]
    (home / name).unlink()
    assert f"{home / name} does not exist" in place()["msg"]
    assert not results.locate_placed(home, "pt_ddp").exists()


def test_a_job_of_the_users_own_is_known_by_its_code(place, home, tmp_path):
    code = shutil.copytree(REPOSITORY / "tests" / "lookalikes" / "own" / "fitted_line", tmp_path / "line")
    plan, env = read_record(home / "plan.json", PlanRecord), read_record(home / "env.json", EnvRecord)
    write_record(home / "plan.json", replace(plan, own={"line": str(code / "job.yml")}))
    torch = next(environment for environment in env.environments if environment.framework == "torch")
    vision = replace(torch, framework="torch+vision")
    write_record(home / "env.json", replace(env, environments=(*env.environments, vision)))
    first = place("line", arguments={"line": {"rate": 0.5}})
    assert first["run"].startswith("/tmp/rekindle/runs/line-")
    assert first["spec"]["job"]["arguments"] == {"rate": 0.5}
    assert first["spec"]["versions"]["code"] == digest_payload(code)
    (code / "client.py").write_text("")
    assert place("line", arguments={"line": {"rate": 0.5}})["run"] != first["run"]
    shutil.rmtree(code)
    assert place("line")["msg"].startswith(f"{code / 'job.yml'} cannot be read: No such file or directory.")


def test_what_cannot_be_placed_fails_with_its_reason(golden, place, home, monkeypatch):
    lines = [place("nothing")["msg"], place(arguments={"pt_ddp": {"local_epoch": {"a": 1}}})["msg"]]
    with monkeypatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(home / "host.json"))
        lines.append(place()["msg"])
    shutil.rmtree(home.parent / "payload")
    golden(*lines, place()["msg"])
    assert not results.locate_placed(home, "pt_ddp").exists()


def test_a_job_whose_files_git_does_not_track_is_unsupported(place, home):
    (payload,) = (home.parent / "payload").iterdir()
    with zipfile.ZipFile(payload, "w") as archive:
        archive.writestr("flare_jobs/llm_sft/client.py", "pass\n")
    assert place() == {}
    cause = "No code of pt_ddp was sent to the host, as git tracks none of its files."
    _assert_no_run(home, "pt_ddp", "UNSUPPORTED", cause)


@pytest.mark.parametrize("job", ["acceptance", "pt_ddp"])
def test_a_job_that_measures_is_sent_the_inventory_s_norms(place, tmp_path, job):
    own = Norms(gpus={}, norms=(Norm(name="bf16_matmul", value=1.0, source="my own"),))
    write_record(tmp_path / "norms.json", own)
    before, sent = place(job), place(job, norms=str(tmp_path / "norms.json"))
    assert sent["spec"]["norms"] == (dump_builtins(own) if job == "acceptance" else None)
    assert (before["run"] == sent["run"]) is (job == "pt_ddp")  # it is measured again by other norms


def test_norms_that_cannot_be_read_fail_the_task(place, tmp_path):
    result = place("acceptance", norms=str(tmp_path / "none.json"))
    assert (result["failed"], "none.json does not exist. Fix: " in result["msg"]) == (True, True)
