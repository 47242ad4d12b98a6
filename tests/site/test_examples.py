# SPDX-License-Identifier: Apache-2.0
"""Examples, and a user's own job, as site.yml runs them, from lookalikes that our tests have; and lies."""

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace
from runners.own_jobs import first_verdict
from runners.plays import REPOSITORY, play

from rekindle.cli import board
from rekindle.jobs import load_job
from rekindle.jobs.checkout import provide_checkout
from rekindle.records import EnvRecord, VerdictRecord, read_record
from rekindle.records.events import TaskEvent
from rekindle.records.evidence import read_lines
from rekindle.results.contents import gather_results

EXAMPLES = ["hello-numpy", "hello-pt"]
JOBS, LOOKALIKES = REPOSITORY / "flare_jobs", REPOSITORY / "tests" / "lookalikes"
OWN = LOOKALIKES / "own" / "fitted_line"
MODEL = "job/workspace/hello-numpy/server/simulate_job/models/server.npy"


@pytest.fixture(scope="module")
def examples(local, tmp_path_factory):
    """Return a run of site.yml with examples and a user's own job, in whose folder nothing changed."""
    inventory = tmp_path_factory.mktemp("examples") / "hosts.yml"
    asked = ", ".join([*(f"examples/{name}" for name in EXAMPLES), f"{OWN}/job.yml"])
    before = _content(OWN)
    inventory.write_text(
        f"{local.read_text()}      rekindle_jobs: [{asked}]\n      rekindle_nvflare_checkout: {LOOKALIKES}\n"
    )
    done = play("site.yml", inventory, tmp_path_factory.mktemp("results") / "examples")
    assert _content(OWN) == before
    return done


def _content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def run(examples, tmp_path, monkeypatch):
    """Return what runs hello-numpy with a lie at site-1, and returns its verdict and its folder."""

    def lying(lie="", **changes):
        monkeypatch.setenv("REKINDLE_LIE", lie)
        job = replace(load_job(JOBS, "hello-numpy"), **changes)
        code = provide_checkout(str(LOOKALIKES), None).examples([job])
        return first_verdict(job, JOBS, examples.results / "local", tmp_path, code), tmp_path / "run"

    return lying


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_passes_by_what_the_server_saw(examples, name):
    folder = examples.results / "local" / name
    assert examples.status == 0, examples.output
    verdict = read_record(folder / "verdict.json", VerdictRecord)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    answer = [line.event for line in read_lines(folder) if isinstance(line.event, TaskEvent)]
    rounds = load_job(JOBS, name).rounds
    assert {(event.site, event.round) for event in answer} == {
        (site, number) for site in ("site-1", "site-2") for number in range(rounds)
    }
    assert all(event.moved for event in answer)


def test_a_users_own_job_passes_by_the_same_claims(examples):
    verdict = read_record(examples.results / "local" / OWN.name / "verdict.json", VerdictRecord)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    claims = {result.claim for result in verdict.evidence}
    assert claims >= {"every_site_trained", "every_site_took_part", "rounds_completed", "global_model_saved"}
    (line,) = [
        line
        for line in board.make_board([gather_results(examples.results)], []).lines
        if line.job == OWN.name
    ]
    assert (line.verdict, line.framework) == ("PASS", "torch+vision")


def test_a_stand_in_is_never_called_the_real_data(examples):
    verdict = read_record(examples.results / "local" / "hello-pt" / "verdict.json", VerdictRecord)
    printed = next(result.message for result in verdict.evidence if result.claim == "runs_as_described")
    assert "data: a stand-in for cifar10, not the real one" in printed


def test_a_run_is_the_same_without_our_component(examples, run, tmp_path):
    verdict, folder = run()
    assert verdict.verdict == "PASS", verdict.cause
    alone = tmp_path / "alone"
    alone.mkdir()
    envs = read_record(examples.results / "local" / "env.json", EnvRecord).environments
    python = next(environment.python for environment in envs if environment.framework == "torch+vision")
    (code,) = provide_checkout(str(LOOKALIKES), None).examples([load_job(JOBS, "hello-numpy")]).values()
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "job.py", "--workspace", str(alone)]
    subprocess.run(command, cwd=code, env=environ, check=True, timeout=300, capture_output=True)
    model = Path(MODEL).relative_to("job/workspace")
    assert (alone / model).read_bytes() == (folder / MODEL).read_bytes()


MAKE_MODELS = """
import numpy as np, torch
from pathlib import Path
home = Path("job/workspace/hello/server/simulate_job")
(home / "cross_site_val").mkdir(parents=True)
whole = np.arange(6, dtype=np.float64)
np.save(home / "whole.npy", whole)
np.save(home / "nan.npy", [1.0, np.nan])
np.save(home / "zeros.npy", np.zeros(3))
np.save(home / "counts.npy", np.arange(3))
np.save(home / "cross_site_val" / "site-1.npy", whole)
weights = {"a": torch.arange(6.0), "n": torch.tensor(7)}
torch.save({"model": weights, "meta_props": {"nr_aggregated": 2.0}}, home / "whole.pt")
torch.save({"b": torch.arange(3, 6).half(), "a": torch.arange(3).bfloat16()}, home / "halves.pt")
(home / "cut.pt").write_bytes((home / "whole.pt").read_bytes()[:-9])
(home / "cut.npy").write_bytes((home / "whole.npy").read_bytes()[:-8])
(home / "none.weights.h5").write_bytes(b"")
"""


def test_a_saved_model_is_recorded_as_it_loads_in_the_runs_environment(examples, tmp_path):
    envs = read_record(examples.results / "local" / "env.json", EnvRecord).environments
    python = next(environment.python for environment in envs if environment.framework == "torch+vision")
    (tmp_path / "evidence").mkdir()
    own = {"REKINDLE_EVIDENCE": tmp_path / "evidence", "REKINDLE_WORKSPACE": tmp_path / "job" / "workspace"}
    environ = {**os.environ, **{name: str(path) for name, path in own.items()}}
    for words in (["-c", MAKE_MODELS], ["-m", "rekindle.trainer.saved_models"]):
        source = {"PYTHONPATH": str(REPOSITORY / "src")}
        subprocess.run([python, *words], cwd=tmp_path, env={**environ, **source}, check=True, timeout=120)
    answer = {Path(line.event.model).name: line.event for line in read_lines(tmp_path)}
    whole = answer.pop("whole.npy")
    assert whole.model == "job/workspace/hello/server/simulate_job/whole.npy"
    assert (whole.values, whole.infinite) == (6, 0)
    assert whole.norm == pytest.approx(55**0.5)
    assert answer.pop("whole.pt").digest == whole.digest  # whatever the format
    halves = answer.pop("halves.pt")
    assert (halves.values, halves.norm) == (6, whole.norm)
    assert halves.digest != whole.digest
    assert answer.pop("zeros.npy").norm == 0
    assert (answer["nan.npy"].infinite, answer.pop("nan.npy").norm) == (1, None)
    assert (answer["counts.npy"].values, answer.pop("counts.npy").digest) == (0, None)
    assert answer.keys() == {"cut.npy", "cut.pt", "none.weights.h5"}
    assert all(event.error for event in answer.values())


@pytest.mark.parametrize(
    ("lie", "kind", "cause"),
    [
        ("raises before init", "FAIL", "A process raised RuntimeError: nothing was set up yet"),
        ("unchanged", "FAIL", "site-1 in round 0 sent back the model that it was sent: it did not train, "),
        ("not a number", "FAIL", "site-1 in round 0 sent what is not finite."),
        ("exits", "HUNG", "The training script of site-1 ended before it sent the result of its task, "),
    ],
)
def test_a_lie_is_named_and_never_a_pass(run, lie, kind, cause):
    verdict, _ = run(lie, silence_s=15)
    assert verdict.verdict == kind
    assert verdict.cause.startswith(cause)
