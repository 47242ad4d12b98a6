"""Jobs that run in a container, as site.yml runs them, by a stand-in for Docker."""

import os
import shutil

import pytest
import yaml
from engine import digest, running
from plays import REPOSITORY, play

from rekindle.records import Ended, EnvRecord, VerdictRecord, read
from rekindle.records.events import SampleEvent
from rekindle.records.evidence import read_lines

CODE = REPOSITORY / "tests" / "lookalikes" / "own" / "fitted_line"
IMAGE, GONE = "registry.example/line:1", "registry.example/gone:1"
SLEEPS = "import time\n\nimport nvflare.client as flare\n\nflare.init()\nflare.receive()\ntime.sleep(900)\n"


SENDS = "params=trained"
LIES = 'params=received.params if flare.get_site_name() == "site-2" else trained'


@pytest.fixture(scope="module")
def engine(host_records, tmp_path_factory):
    """Return an engine whose registry has an image with what torch's environment has."""
    with running(tmp_path_factory.mktemp("docker")) as engine:
        environments = read(host_records / "env.json", EnvRecord).environments
        engine.registry[IMAGE] = next(
            environment.python for environment in environments if environment.framework == "torch"
        )
        yield engine


@pytest.fixture(scope="module")
def contained(local, engine, tmp_path_factory):
    """Return a run of one job, of it with a site that lies, with clients that sleep, and without an image."""
    folder = tmp_path_factory.mktemp("contained")
    described = {**yaml.safe_load((CODE / "job.yml").read_text()), "environment": "torch"}
    for name, image in (("line", IMAGE), ("lying", IMAGE), ("stuck", IMAGE), ("lacking", GONE)):
        shutil.copytree(CODE, folder / name)
        example = {**described["example"], "container": {"image": image}}
        job = {**described, "name": name, "example": example, "silence_s": 15}
        (folder / name / "job.yml").write_text(yaml.safe_dump(job))
    (folder / "stuck" / "client.py").write_text(SLEEPS)
    lying = folder / "lying" / "client.py"
    lying.write_text(lying.read_text().replace(SENDS, LIES))
    asked = ", ".join(f"{folder}/{name}/job.yml" for name in ("lacking", "line", "lying", "stuck"))
    inventory = folder / "hosts.yml"
    inventory.write_text(f"{local.read_text()}      rekindle_jobs: [{asked}]\n")
    path = f"{engine.bin}:{os.environ['PATH']}"
    return play("site.yml", inventory, tmp_path_factory.mktemp("results") / "contained", PATH=path)


def _verdict(contained, job):
    return read(contained.results / "local" / job / "verdict.json", VerdictRecord)


def test_it_passes_and_says_where_it_ran(contained):
    verdict = _verdict(contained, "line")
    assert (verdict.verdict, verdict.cause) == ("PASS", None), contained.output
    said = next(result.says for result in verdict.evidence if result.claim == "runs_as_described")
    assert f"in the container {IMAGE} ({digest(IMAGE)})" in said
    assert verdict.versions["image"] == IMAGE


def test_the_work_of_its_sites_is_seen_in_the_engines_processes(contained, engine):
    assert ["inspect", "--format", "{{.State.Pid}}"] in [words[:3] for words in engine.asked]
    worked = next(
        result for result in _verdict(contained, "line").evidence if result.claim == "every_site_worked"
    )
    assert worked.holds, worked.says
    samples = [
        line.event
        for line in read_lines(contained.results / "local" / "line")
        if isinstance(line.event, SampleEvent)
    ]
    assert samples[-1].worked.keys() >= {"server", "site-1", "site-2"}


def test_a_site_that_sends_back_what_it_was_sent_is_named(contained):
    verdict = _verdict(contained, "lying")
    assert verdict.verdict == "FAIL"
    assert verdict.cause == "site-2 in round 0 sent back the model that it was sent: it did not train."


def test_one_that_hangs_is_ended_with_its_container(contained, engine):
    assert _verdict(contained, "stuck").verdict == "HUNG"
    assert read(contained.results / "local" / "stuck" / "ended.json", Ended).reason == "hung"
    assert engine.containers == {}


def test_one_whose_image_is_nowhere_is_unsupported_and_the_others_run(contained):
    verdict = _verdict(contained, "lacking")
    assert verdict.verdict == "UNSUPPORTED"
    assert verdict.cause.startswith(f"local cannot pull the image {GONE}: ")
