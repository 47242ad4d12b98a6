# SPDX-License-Identifier: Apache-2.0
"""Jobs that run in a container, as site.yml runs them, by Podman on this machine."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from lab.base import base
from lab.machine import alone
from runners.plays import REPOSITORY, checkout, play
from runners.podman import registry, running

from rekindle.records import EnvRecord, ImagesRecord, VerdictRecord, read_record
from rekindle.records.events import SampleEvent
from rekindle.records.evidence import read_lines
from rekindle.records.layout import spec_in
from rekindle.results.seal import read_seal

LOOKALIKES = REPOSITORY / "tests" / "lookalikes"
CODE = LOOKALIKES / "own" / "fitted_line"
IMAGE = "localhost/nvflare:1"
BIONEMO = "nvcr.io/nvidia/clara/bionemo-framework:2.5"


@pytest.fixture(scope="module")
def podman(here, host_records, tmp_path_factory):
    """Return a Podman with an image of Debian's in which ``python3`` is torch's environment of this host."""
    environments = read_record(host_records / "env.json", EnvRecord).environments
    python = Path(next(each.python for each in environments if each.framework == "torch"))
    home = subprocess.check_output([python, "-c", "import sys; print(sys.base_prefix)"], text=True).strip()
    folder = tmp_path_factory.mktemp("podman")
    with running(folder, [home, python.parents[1]]) as podman:
        with alone("base"):
            podman.image(IMAGE, base(), f"{python.parent}:/usr/bin:/bin")
        yield podman


@pytest.fixture(scope="module")
def contained(local, podman, tmp_path_factory):
    """Return a run of our pt_ddp, NVFlare's hello-numpy, a user's own job, and one without its image."""
    folder = tmp_path_factory.mktemp("contained")
    described = {**yaml.safe_load((CODE / "job.yml").read_text()), "environment": "torch"}
    images = {"line": IMAGE, "tap": BIONEMO}
    for name, image in images.items():
        shutil.copytree(CODE, folder / name)
        job = {**described, "name": name, "container": {"image": image}}
        (folder / name / "job.yml").write_text(yaml.safe_dump(job))
    with registry(podman, folder / "registry", IMAGE, "nvflare:2") as pulled:
        code = folder / "code"
        code.mkdir()
        inside = 'torch\ncontainer: {{image: "{}"}}'
        checkout(code, pt_ddp={"environment": inside.format(IMAGE), "sites": 1})
        example = code / "flare_jobs" / "examples" / "hello-numpy.yml"
        text, found = re.subn(
            "(?m)^environment: .*$", f"environment: {inside.format(pulled)}", example.read_text()
        )
        assert found == 1
        example.write_text(text)
        asked = ", ".join(
            ["pt_ddp", "examples/hello-numpy", *(f"{folder}/{name}/job.yml" for name in images)]
        )
        inventory = folder / "hosts.yml"
        more = f"      rekindle_jobs: [{asked}]\n      rekindle_nvflare_checkout: {LOOKALIKES}\n"
        inventory.write_text(f"{local.read_text()}{more}")
        results = tmp_path_factory.mktemp("results") / "contained"
        return play("site.yml", inventory, results, cwd=code, PATH=f"{podman.bin}:{os.environ['PATH']}")


def _verdict(contained, job):
    return read_record(contained.results / "local" / job / "verdict.json", VerdictRecord)


@pytest.mark.parametrize("job", ["pt_ddp", "hello-numpy", "line"])
def test_it_passes_and_its_verdict_and_seal_have_the_images_digest(contained, podman, job):
    verdict = _verdict(contained, job)
    assert (verdict.verdict, verdict.cause) == ("PASS", None), contained.output
    assert verdict.versions["engine"].startswith("Podman ")
    assert verdict.versions["image id"] == podman.digest(verdict.versions["image"])
    folder = contained.results / "local" / job
    assert spec_in(folder).versions == verdict.versions
    sealed = read_seal(contained.results).digests
    for name in ("spec.json", "verdict.json"):
        assert sealed[f"local/{job}/{name}"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_its_images_come_from_the_engine_or_a_registry_and_are_named_in_the_evidence(contained, podman):
    images = [_verdict(contained, job).versions["image"] for job in ("pt_ddp", "line")]
    assert images == [IMAGE, IMAGE]
    pulled = _verdict(contained, "hello-numpy").versions["image"]
    assert pulled.startswith("127.0.0.1:")
    for job, image in (("line", IMAGE), ("hello-numpy", pulled)):
        results = _verdict(contained, job).evidence
        said = next(result.message for result in results if result.claim == "runs_as_described")
        assert f"in the container {image} ({podman.digest(image)})" in said


def test_the_work_of_its_sites_is_seen_by_the_hosts_pids(contained):
    folder = contained.results / "local" / "line"
    samples = [line.event for line in read_lines(folder) if isinstance(line.event, SampleEvent)]
    assert samples[-1].worked.keys() >= {"server", "site-1", "site-2"}


def test_bionemos_image_is_all_that_it_lacks_here(contained):
    verdict = _verdict(contained, "tap")
    assert verdict.verdict == "UNSUPPORTED"
    assert verdict.cause.startswith(f"local cannot pull the image {BIONEMO}: ")
    assert "registry nvcr.io is blocked" in verdict.cause


@pytest.fixture
def have(contained, podman, local, tmp_path):
    """Return what runs the stage containers alone for an image, and returns the record of it."""
    results = tmp_path / "results"
    shutil.copytree(contained.results, results)

    def run(image, wheelhouse):
        plan = results / "local" / "plan.json"
        plan.write_text(json.dumps({**json.loads(plan.read_text()), "images": [image]}))
        path = f"{podman.bin}:{os.environ['PATH']}"
        play("playbooks/containers.yml", local, results, "-e", f"rekindle_wheelhouse={wheelhouse}", PATH=path)
        (found,) = read_record(results / "local" / "images.json", ImagesRecord).images
        return found

    return run


def test_a_store_without_room_for_an_image_is_refused(have, podman, tmp_path):
    name, store = "localhost/large:1", tmp_path / "small"
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "fill").write_bytes(os.urandom(24 << 20))
    podman.image(name, tmp_path / "etc")
    digest = podman.digest(name)
    podman.ask("save", "--quiet", "-o", tmp_path / "localhost-large-1.tar", name)
    with registry(podman, tmp_path / "registry", name, "large:1") as pulled:
        podman.ask("rmi", name)
        with podman.small(store, megabytes=20):
            lacks = have(name, tmp_path)
            assert re.fullmatch(
                rf"local has \d+ MiB free at {store}, and the image {name} has 24 MiB\.", lacks.message
            )
            lacks = have(pulled, "")
            assert lacks.message.startswith(f"local has no room for the image {pulled}: ")
    assert have(name, tmp_path).id == digest
