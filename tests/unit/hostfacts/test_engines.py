# SPDX-License-Identifier: Apache-2.0
"""The container engines that a host has, as the collector asks and as its answers are read."""

import pytest
from answers import FRAMES
from msgspec.structs import replace
from stand_ins.docker import Docker

from rekindle.hostfacts import make_host_record
from rekindle.hostfacts.engines import read_engines
from rekindle.hostfacts.frames import Frame, Frames
from rekindle.records import Engine

DEAD = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
PODMAN = Engine(name="podman", path="/usr/bin/podman", version="4.3.1")


@pytest.fixture
def docker(tmp_path):
    return Docker(tmp_path / "bin")


@pytest.fixture
def asked(collect, docker):
    """Return what asks for Docker, which is first on PATH."""
    return lambda: read_engines(collect("docker", "containers"))


def test_docker_answers_without_nvidias_toolkit_with_its_runtime_or_its_hook(asked, docker):
    plain = Engine(path=str(docker.path), version="29.0.1")
    assert asked() == (plain,)
    docker["runtimes"] = "io.containerd.runc.v2 nvidia runc "
    assert asked() == (replace(plain, nvidia=True),)
    docker["runtimes"] = "runc"
    toolkit = docker.path.with_name("nvidia-container-runtime-hook")
    toolkit.write_text("#!/bin/sh\n")
    toolkit.chmod(0o755)
    assert asked() == (replace(plain, nvidia=True),)


def test_docker_whose_daemon_is_dead(asked, docker):
    docker.path.write_text(f"#!/bin/sh\necho 'version= runtimes='\necho '{DEAD}' >&2\nexit 1\n")
    assert asked() == (Engine(path=str(docker.path), version=None, message=DEAD.rstrip("?")),)


@pytest.mark.parametrize("status", ["timeout", "124", "0"])
def test_an_engine_that_does_not_report_its_version_does_not_answer(status):
    frame = Frame(status, "/usr/bin/docker\nversion= runtimes=")
    message = "status 0" if status == "0" else "it gave no answer in time"
    assert read_engines(Frames(docker=frame)) == (
        Engine(path="/usr/bin/docker", version=None, message=message),
    )


@pytest.mark.parametrize(
    "frames",
    [
        {},
        {"docker": Frame("127", "")},
        {"docker": Frame("1", "sh: no docker")},
        {"docker": Frame("0", "/usr/bin/docker\nEmulate Docker CLI using podman.")},
    ],
)
def test_no_engine(frames):
    assert read_engines(Frames(frames)) == ()


@pytest.mark.parametrize(
    ("version", "gives", "expected"),
    [
        ("4.3.1", "", PODMAN),
        ("4.3.1", "/usr/bin/nvidia-ctk\n", PODMAN),
        ("4.3.1", "/usr/bin/nvidia-ctk\n/etc/cdi/nvidia.yaml\n", replace(PODMAN, cdi=True)),
        ("3.4.4", "/etc/cdi/nvidia.yaml\n", replace(PODMAN, version="3.4.4")),
        ("4.3.1", "no subuids\n", replace(PODMAN, message="it has no subordinate ids in /etc/subuid")),
    ],
)
def test_podman_gives_gpus_by_cdi_since_4_1_and_needs_subordinate_ids_of_a_user(version, gives, expected):
    podman = Frame("0", f"/usr/bin/podman\npodman version {version}\n")
    frames = Frames(podman=podman, containers=Frame("1", gives))
    assert read_engines(frames) == (expected,)


@pytest.mark.parametrize(("version", "cdi"), [("28.2.2", False), ("28.3.0", True)])
def test_docker_gives_gpus_by_cdi_since_28_3(version, cdi):
    docker = Frame("0", f"/usr/bin/docker\nversion={version} runtimes=runc ")
    (engine,) = read_engines(Frames(docker=docker, containers=Frame("1", "/etc/cdi/nvidia.yaml\n")))
    assert (engine.nvidia, engine.cdi) == (False, cdi)


def test_apptainer_and_the_order_in_which_engines_are_preferred():
    frames = Frames(
        apptainer=Frame("0", "/usr/bin/apptainer\napptainer version 1.4.5\n"),
        podman=Frame("0", "/usr/bin/podman\npodman version 5.0.0-dev\n"),
    )
    assert [engine.title for engine in read_engines(frames)] == ["Podman 5.0.0-dev", "Apptainer 1.4.5"]


def test_they_are_in_the_hosts_record():
    docker = Frame("0", "/usr/bin/docker\nversion=29.0.1 runtimes=nvidia runc ")
    assert make_host_record(Frames({**FRAMES, "docker": docker}), "lease-1", "~/rekindle").engines[0].nvidia
