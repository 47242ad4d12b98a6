# SPDX-License-Identifier: Apache-2.0
"""Models too large to be collected: their evidence from the host counts, if sites sent such models."""

import json
import shutil

import pytest
from samples.edits import events, json_in, result_of

from rekindle.judge import judge_run

MODEL = "job/workspace/llm_hf_sft/server/simulate_job/app_server/FL_global_model.pt"
BEST = MODEL.replace("FL_", "best_FL_")


@pytest.fixture
def run(recordings, tmp_path):
    """Return a copy of a run of llm_hf SFT on two H200s, whose models of 650 MB stayed there."""
    return shutil.copytree(recordings / "h200-llm-hf-sft", tmp_path / "run")


def saved(**changes):
    """Return what alters the records of the models as they were loaded."""
    return lambda run: events(run / "evidence/job.jsonl", lambda event: {**event, **changes})


def not_loaded(run):
    events(run / "evidence/job.jsonl", lambda event: None)


def not_left(run):
    """Have left.json name no model, which then is nowhere."""
    with json_in(run / "left.json") as left:
        for name in (MODEL, BEST):
            del left["files"][name]


def as_small_as_it_gets(run):
    """Give the run a model that is small enough to be collected."""
    saved(values=1000)(run)
    events(run / "evidence/server.jsonl", lambda event: {**event, "values": 1000})


def as_it_began(run):
    """Have the server begin with what it saved."""
    digest = json.loads((run / "evidence/job.jsonl").read_text().splitlines()[0])["digest"]
    began = lambda event: event | {"digest": digest} if "digest" in event else event  # noqa: E731
    events(run / "evidence/server.jsonl", began)


LIES = {
    "it is on no host either": (not_left, "global_model_saved", "unknown"),
    "nobody loaded it": (not_loaded, "saved_models_load", "unknown"),
    "it did not load": (saved(error="EOFError", values=0, digest=None), "saved_models_load", "fails"),
    "it is all zeros": (saved(norm=0.0), "global_model_saved", "fails"),
    "it is not finite": (saved(infinite=1, norm=None), "global_model_saved", "fails"),
    "it is the first one": (as_it_began, "saved_models_load", "fails"),
    "no site sent as many values": (saved(values=163037185), "saved_models_load", "unknown"),
    "it is not too large": (as_small_as_it_gets, "saved_models_load", "unknown"),
}


def test_it_passes_by_what_was_seen_there(run):
    verdict = judge_run(run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    messages = {result.claim: result.message for result in verdict.evidence}
    assert "stayed on the host" in messages["global_model_saved"]
    assert "163037184 values" in messages["global_model_saved"]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_no_pass(run, lie):
    change, claim, state = LIES[lie]
    change(run)
    verdict = judge_run(run)
    assert verdict.verdict in ({"FAIL"} if state == "fails" else {"UNPROVEN", "FAIL"})
    assert result_of(verdict, claim).state == state


def test_an_example_lists_the_gpus_that_its_sites_held(run):
    seen = [(device.site, device.rank, device.name) for device in judge_run(run).devices]
    assert seen == [(site, rank, "NVIDIA H200") for site in ("site-1", "site-2") for rank in (0, 1)]
