"""A job that runs in a container: which hosts are refused and with which sentence, and what is sent."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from rekindle.jobs import NoRunError, archive_of, foresee, image_of, load_job, prepare
from rekindle.records import Docker, EnvRecord, HostRecord, PlanRecord, RecordError, RunSpec, convert, read
from rekindle.records import to_builtins as plain

REPOSITORY = Path(__file__).parents[3]
IMAGE = "nvcr.io/nvidia/clara/bionemo-framework:2.5"
DOCKER = Docker(path="/usr/bin/docker", version="29.0.1", nvidia=True)
DEAD = Docker(path="/usr/bin/docker", version=None, says="Cannot connect to the Docker daemon")
NO_ENGINE = (
    f"bionemo-tap runs in the container {IMAGE}, and h200 has no container engine: docker is not there."
)
NO_ANSWER = (
    f"bionemo-tap runs in the container {IMAGE}, and the container engine of h200 does not "
    "answer: Cannot connect to the Docker daemon."
)
NO_TOOLKIT = (
    f"bionemo-tap runs in the container {IMAGE}, and Docker 29.0.1 on h200 has no NVIDIA container toolkit."
)


@pytest.fixture
def job():
    return load_job(REPOSITORY / "flare_jobs", "examples/bionemo-tap")


@pytest.fixture
def placed(recordings, job):
    """Return what comes of the example on the recorded host with an engine: foreseen, and prepared."""
    folder = recordings / "h200-x2"
    plan, env = read(folder / "plan.json", PlanRecord), read(folder / "env.json", EnvRecord)

    def on(docker, **changes):
        host = replace(read(folder / "host.json", HostRecord), host="h200", docker=docker, **changes)
        (foreseen,) = foresee([job], host, plan, None)
        try:
            return foreseen.refusal, prepare(job, host, plan, env, "/tmp/rekindle/tmp")
        except NoRunError as reason:
            return foreseen.refusal, reason

    return on


@pytest.mark.parametrize(
    ("docker", "says", "fix"),
    [
        (None, NO_ENGINE, "Install Docker on the host"),
        (DEAD, NO_ANSWER, "Start Docker's daemon there"),
        (replace(DOCKER, nvidia=False), NO_TOOLKIT, "Install nvidia-container-toolkit there"),
    ],
)
def test_a_host_that_cannot_run_it_is_unsupported(placed, docker, says, fix):
    refusal, reason = placed(docker)
    assert refusal.startswith(f"{says} Fix: {fix}")
    assert (reason.verdict, reason.says) == ("UNSUPPORTED", says)
    assert reason.fix.startswith(fix)


def test_a_host_without_gpus_needs_no_toolkit_and_lacks_the_gpu(placed):
    refusal, _ = placed(replace(DOCKER, nvidia=False), gpus=())
    assert refusal.startswith("bionemo-tap needs 1 GPUs and h200 has none.")


def test_a_host_that_can_gets_the_engines_path_and_no_versions_of_what_is_not_run(placed):
    refusal, spec = placed(DOCKER)
    assert refusal is None
    assert isinstance(spec, RunSpec)
    assert (spec.docker, spec.versions) == ("/usr/bin/docker", {"image": IMAGE, "driver": "580.159.04"})


def test_other_jobs_need_no_engine(recordings):
    host = read(recordings / "h200-x2" / "host.json", HostRecord)
    plan = read(recordings / "h200-x2" / "plan.json", PlanRecord)
    job = load_job(REPOSITORY / "flare_jobs", "pt_ddp")
    assert (host.docker, image_of(job)) == (None, None)
    assert foresee([job], host, plan, None)[0].refusal is None


@pytest.mark.parametrize("image", ["--privileged", "a b", "", "-v", "a\n", "a;b"])
def test_an_image_is_no_option(job, image):
    data = plain(job)
    data["example"]["container"]["image"] = image
    with pytest.raises(RecordError):
        convert(data, type(job))


def test_the_archive_of_an_image_is_a_plain_file():
    assert archive_of(IMAGE) == "nvcr.io-nvidia-clara-bionemo-framework-2.5.tar"
