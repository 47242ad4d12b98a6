"""The container engine that a host has, as the collector asks and as its answer is read."""

import pytest
from answers import FRAMES, recorded
from engine import running
from test_collect import collect  # noqa: F401 - a fixture

from rekindle.hostfacts import host_record
from rekindle.hostfacts.frames import Frame, Frames
from rekindle.hostfacts.system import docker
from rekindle.records import Docker, HostRecord, decode

DEAD = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"


@pytest.fixture
def engine(tmp_path):
    with running(tmp_path / "bin") as engine:
        yield engine


@pytest.fixture
def asked(collect, engine):  # noqa: F811
    return lambda: docker(collect("docker"))


def test_an_engine_that_answers(asked, engine):
    assert asked() == Docker(path=str(engine.docker), version="29.0.1")


def test_an_engine_with_nvidias_runtime(asked, engine):
    engine.runtimes = "io.containerd.runc.v2 nvidia runc "
    assert asked() == Docker(path=str(engine.docker), version="29.0.1", nvidia=True)


def test_nvidias_toolkit_without_a_runtime_of_its_own(asked, engine):
    toolkit = engine.bin / "nvidia-container-runtime-hook"
    toolkit.write_text("#!/bin/sh\n")
    toolkit.chmod(0o755)
    assert asked().nvidia


def test_an_engine_whose_daemon_is_dead(asked, engine):
    engine.docker.write_text(f"#!/bin/sh\necho 'version= runtimes='\necho '{DEAD}' >&2\nexit 1\n")
    assert asked() == Docker(path=str(engine.docker), version=None, says=DEAD.rstrip("?"))


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (Frame("timeout", "/usr/bin/docker"), "it gave no answer in time"),
        (Frame("124", "/usr/bin/docker"), "it gave no answer in time"),
        (Frame("0", "/usr/bin/docker\nversion= runtimes="), "status 0"),
        (Frame("0", "/usr/bin/docker\nEmulate Docker CLI using podman."), "Emulate Docker CLI using podman"),
    ],
)
def test_an_engine_that_does_not_say_its_version_does_not_answer(frame, says):
    assert docker(Frames(docker=frame)) == Docker(path="/usr/bin/docker", version=None, says=says)


@pytest.mark.parametrize(
    "frames", [{}, {"docker": Frame("127", "")}, {"docker": Frame("1", "sh: no docker")}]
)
def test_no_engine(frames):
    assert docker(Frames(frames)) is None


def test_it_is_in_the_hosts_record_and_may_lack_there():
    told = Frames({**FRAMES, "docker": Frame("0", "/usr/bin/docker\nversion=29.0.1 runtimes=nvidia runc ")})
    assert host_record(told, "lease-1", "~/rekindle").docker.nvidia
    assert decode(recorded("h200-x2/host.json"), HostRecord).docker is None
