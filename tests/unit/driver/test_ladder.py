# SPDX-License-Identifier: Apache-2.0
"""The blame ladder: the lowest step that fails is the one that is named."""

import json
import sys

import pytest
from msgspec.structs import replace

from rekindle.driver import ladder
from rekindle.records import Container, RunSpec, Site, read_record

REPORT = '{"gpus": []}\n{"gpus": [], "collective": {"backend": "gloo", "ranks": 2}}'
ROUND = {"event": "round", "time": 0, "round": 0, "samples": 1, "seconds": 1, "losses": [], "metrics": {}}
TRAINER = f"""
import json, os
site = os.environ["REKINDLE_SITE"]
with open(f"{{os.environ['REKINDLE_EVIDENCE']}}/{{site}}.jsonl", "w") as stream:
    for rank in (0, 1):
        event = {{**{ROUND}, "site": site, "rank": rank, "model_in": "a" * 64, "model_out": "b" * 64}}
        stream.write(json.dumps(event) + "\\n")
"""


@pytest.fixture
def spec(clean_run, tmp_path):
    """Return the recorded run's spec, with trainers that never trained and an interpreter of the test's."""
    for path in (clean_run / "evidence").glob("site-*"):
        path.unlink()
    return replace(
        read_record(clean_run / "spec.json", RunSpec), python=str(tmp_path / "python"), tmpdir=str(tmp_path)
    )


def _probe(tmp_path, shell):
    (tmp_path / "python").write_text(f"#!/bin/sh\n{shell}\n")
    (tmp_path / "python").chmod(0o755)


def _trainers(clean_run, code):
    for site in ("site-1", "site-2"):
        app = clean_run / "job/workspace/pt_ddp" / site / "simulate_job" / f"app_{site}"
        (app / "config").mkdir(parents=True)
        (app / "train.py").write_text(code)
        script = f"env REKINDLE_SITE={site} {sys.executable} train.py"
        components = [{"id": "launcher", "args": {"script": script}}]
        (app / "config/config_fed_client.json").write_text(json.dumps({"components": components}))


def _alone(clean_run, tmp_path, code):
    """Have everything below the trainers hold, and trainers that run ``code``."""
    _probe(tmp_path, f"cat <<'END'\n{REPORT}\nEND")
    _trainers(clean_run, code)


def _climb(clean_run, spec):
    rungs = ladder.climb_ladder(clean_run, spec, {})
    assert [rung.name for rung in rungs][-1] == "under NVFlare"
    return {rung.name: rung for rung in rungs}


def _blamed(rungs):
    return next(name for name, rung in rungs.items() if rung.state == "fails")


def test_a_gpu_that_the_driver_does_not_know_is_the_first(clean_run, spec):
    lost = replace(spec, sites=(Site(name="site-1", ranks=1, gpus=("GPU-lost",)),))
    rungs = _climb(clean_run, lost)
    assert _blamed(rungs) == "GPUs visible"
    assert "GPU-lost" in rungs["GPUs visible"].message
    assert rungs["collective"].state == "not tried"


@pytest.mark.parametrize(
    ("before", "step", "error"),
    [
        (":", "matrix product", "no kernel image"),
        ("echo '{\"gpus\": []}'", "collective", "NCCL Error: unhandled"),
    ],
)
def test_a_step_of_the_probe_that_fails(clean_run, spec, tmp_path, before, step, error):  # noqa: PLR0913, PLR0917
    _probe(tmp_path, f"{before}; echo 'RuntimeError: {error}' >&2; exit 1")
    rungs = _climb(clean_run, spec)
    assert _blamed(rungs) == step
    assert error in rungs[step].message


def test_trainers_that_fail_without_nvflare_too(clean_run, spec, tmp_path):
    _alone(clean_run, tmp_path, "raise FileNotFoundError('no data here')")
    rungs = _climb(clean_run, spec)
    assert _blamed(rungs) == "training alone"
    assert "FileNotFoundError: no data here" in rungs["training alone"].message


def test_trainers_that_never_end_are_ended(clean_run, spec, tmp_path, monkeypatch):
    monkeypatch.setattr(ladder, "_TRAINING_LIMIT_S", 1.0)
    _alone(clean_run, tmp_path, "import time; time.sleep(600)")
    rungs = _climb(clean_run, spec)
    assert _blamed(rungs) == "training alone"
    assert "within 1 s" in rungs["training alone"].message


def test_what_trains_alone_is_nvflares_to_answer_for(clean_run, spec, tmp_path):
    _alone(clean_run, tmp_path, TRAINER)
    rungs = _climb(clean_run, spec)
    assert _blamed(rungs) == "under NVFlare"
    assert rungs["training alone"].state == "holds"
    assert rungs["GPUs visible"].state == "not tried"


def test_what_the_run_itself_shows_is_not_tried_again(clean_run):
    rungs = _climb(clean_run, read_record(clean_run / "spec.json", RunSpec))
    assert [rung.state for rung in rungs.values()] == [*["holds"] * 4, "fails"]
    assert not (clean_run / "ladder").exists()


def test_trainers_of_a_container_are_not_tried_on_the_host(clean_run, spec, tmp_path):
    _alone(clean_run, tmp_path, "raise SystemExit(1)\n")
    inside = replace(spec.job, container=Container(image="registry.example/line:1"))
    alone = _climb(clean_run, replace(spec, job=inside))["training alone"]
    assert (alone.state, alone.message) == ("not tried", "Trainers are in the container alone.")
