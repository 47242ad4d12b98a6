# SPDX-License-Identifier: Apache-2.0
"""What starts and ends a run in a container, by each engine's words; tests/site has real ones."""

import os

import pytest
from msgspec.structs import replace
from test_ladder import spec  # noqa: F401 - a fixture

from rekindle.driver import command
from rekindle.driver.container import RunContainer
from rekindle.host.engines import KINDS, name_container
from rekindle.host.paths import PACKAGE
from rekindle.records import Container as Described
from rekindle.records import Engine, Example, Site
from rekindle.trainer.example import _gpus

IMAGE, DIGEST = "registry.example/line:1", f"sha256:{'ab' * 32}"
DOCKER = Engine(path="/usr/bin/docker", version="29.0.1", nvidia=True, cdi=True)
PODMAN = Engine(name="podman", path="/usr/bin/podman", version="4.3.1", cdi=True)
APPTAINER = Engine(name="apptainer", path="/usr/bin/apptainer", version="1.4.5")


@pytest.fixture
def started(spec, tmp_path, monkeypatch):  # noqa: F811
    """Return what returns the words and variables that start a run by an engine."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of/the/host")
    monkeypatch.setenv("https_proxy", "http://proxy.example")
    run_dir = tmp_path / "root" / "runs" / "line-0123"
    run_dir.mkdir(parents=True)

    def start(engine, **changes):
        example = Example(command=("job.py",), environ={"SEED": "7"})
        job = replace(spec.job, example=example, container=Described(image=IMAGE))
        own = {"site-1": ("GPU-c",), "site-2": ("GPU-f", "GPU-c")}
        sites = tuple(Site(name=name, ranks=len(gpus), gpus=gpus) for name, gpus in own.items())
        given = {"job": job, "sites": sites, "nonce": "0123", "versions": {"image id": DIGEST}, **changes}
        of_both = replace(spec, engine=engine, tmpdir="/scratch/tmp", **given)
        environ = command.make_job_environment(run_dir, of_both)
        return run_dir, *RunContainer(run_dir, of_both).start(["/env/python", "-m", "this"], environ)

    return start


def _values(words, option):
    return [words[place + 1] for place, word in enumerate(words) if word == option]


@pytest.mark.parametrize("engine", [DOCKER, PODMAN])
def test_a_container_has_our_paths_and_variables_and_none_of_the_hosts(started, engine):
    run_dir, words, environ = started(engine)
    assert words[:2] == [engine.path, "run"]
    assert words[-4:] == [DIGEST, "python3", "-m", "this"]  # not the name, which another image may have
    paths = [f"{run_dir}:{run_dir}", "/scratch/tmp:/scratch/tmp", f"{PACKAGE.parent}:{PACKAGE.parent}:ro"]
    assert _values(words, "--volume") == paths
    assert _values(words, "--workdir") == [f"{run_dir}/job"]
    assert _values(words, "--user") == [f"{os.getuid()}:{os.getgid()}"]
    names = _values(words, "--env")
    assert {"SEED", "REKINDLE_NONCE", "CUDA_VISIBLE_DEVICES", "https_proxy", "HOME=/scratch/tmp"} <= {*names}
    assert not {"LD_LIBRARY_PATH", "PATH", "HOME"} & {*names}
    assert not {"0123", "7", "http://proxy.example"} & {word.partition("=")[2] for word in words}
    assert (environ["SEED"], environ["REKINDLE_NONCE"]) == ("7", "0123")
    assert {"--pid=host", "--rm", "--pull=never"} <= {*words}


@pytest.mark.parametrize(
    ("engine", "given"),
    [
        (DOCKER, ["--gpus", '"device=GPU-c,GPU-f"']),
        (replace(DOCKER, nvidia=False), ["--device", "nvidia.com/gpu=GPU-c"]),
        (PODMAN, ["--device", "nvidia.com/gpu=GPU-c", "--device", "nvidia.com/gpu=GPU-f"]),
        (APPTAINER, ["--nv"]),
    ],
)
def test_its_gpus_are_given_by_uuid(started, engine, given):
    _, words, environ = started(engine)
    place = words.index(given[0])
    assert words[place : place + len(given)] == given
    assert environ["CUDA_VISIBLE_DEVICES"] == "GPU-c,GPU-f"
    _, words, _ = started(engine, sites=(Site(name="site-1", ranks=1, gpus=()),))
    assert not {"--gpus", "--device", "--nv"} & {*words}


def test_a_job_of_ours_has_its_sites_gpus_though_its_own_process_sees_none(started, spec):  # noqa: F811
    ours = replace(spec.job, example=None, container=Described(image=IMAGE))
    _, words, environ = started(PODMAN, job=ours)
    assert environ["CUDA_VISIBLE_DEVICES"] == ""
    assert _values(words, "--device") == ["nvidia.com/gpu=GPU-c", "nvidia.com/gpu=GPU-f"]


def test_apptainer_takes_a_file_and_variables_by_its_clients(started):
    run_dir, words, environ = started(APPTAINER)
    image = f"{run_dir.parents[1]}/cache/images/registry.example-line-1.sif"
    assert words[:4] == ["/usr/bin/apptainer", "--silent", "exec", "--cleanenv"]
    assert words[-4:] == [image, "python3", "-m", "this"]
    assert _values(words, "--bind")[0] == f"{run_dir}:{run_dir}"
    assert environ["APPTAINERENV_SEED"] == "7"
    assert environ["APPTAINER_CONFIGDIR"] == f"{run_dir.parents[1]}/cache/images"  # not in the user's home
    assert _values(words, "--home") == ["/scratch/tmp"]
    assert "APPTAINERENV_LD_LIBRARY_PATH" not in environ


@pytest.mark.parametrize(("engine", "expected"), [("docker", "[0],[1,0]"), ("podman", "[0],[1,0]")])
def test_gpus_are_counted_anew_inside(engine, expected):
    given = {"gpus": [{"uuid": "GPU-c", "index": 2}, {"uuid": "GPU-f", "index": 5}]}
    sites = (["GPU-c"], ["GPU-f", "GPU-c"])
    given["sites"] = [{"gpus": gpus, "ranks": len(gpus)} for gpus in sites]
    assert _gpus({**given, "engine": {"name": engine}}) == expected
    assert _gpus({**given, "engine": {"name": "apptainer"}}) == "[2],[5,2]"
    assert _gpus({**given, "engine": None}) == _gpus(given) == "[2],[5,2]"


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_the_next_start_of_a_run_ends_its_container_by_the_same_name(started, engine):
    run_dir, words, _ = started(replace(DOCKER, name=engine))
    (name,) = _values(words, "--name")
    assert name == name_container(run_dir)
    ends = KINDS[engine]("/bin/it", "/root").end(name)
    assert ends == [["/bin/it", "kill", name], ["/bin/it", "rm", "--force", name]]
