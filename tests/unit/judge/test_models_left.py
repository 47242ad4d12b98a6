"""Models too large to come home: what was seen of them on the host counts, if sites sent the like."""

import json
import shutil

import pytest
from recorded_edits import events

from rekindle.judge import judge

MODEL = "job/workspace/llm_hf_sft/server/simulate_job/app_server/FL_global_model.pt"
BEST = MODEL.replace("FL_", "best_FL_")


@pytest.fixture
def run(recordings, tmp_path):
    """Return a copy of a run of llm_hf SFT on two H200s, whose models of 650 MB stayed there."""
    return shutil.copytree(recordings / "h200-llm-hf-sft", tmp_path / "run")


def saved(**changes):
    """Return what alters what was told of the models as they loaded."""
    return lambda run: events(run / "evidence/job.jsonl", lambda event: {**event, **changes})


def not_left(run):
    """Have left.json name no model, which then is nowhere."""
    left = json.loads((run / "left.json").read_text())
    left["files"] = {name: why for name, why in left["files"].items() if name not in {MODEL, BEST}}
    (run / "left.json").write_text(json.dumps(left))


def as_small_as_it_gets(run):
    """Have all of a run be of a model that would have come home."""
    saved(values=1000)(run)
    events(run / "evidence/server.jsonl", lambda event: {**event, "values": 1000})


def as_it_began(run):
    """Have the server begin with what it saved."""
    digest = json.loads((run / "evidence/job.jsonl").read_text().splitlines()[0])["digest"]
    began = lambda event: event | {"digest": digest} if "digest" in event else event  # noqa: E731
    events(run / "evidence/server.jsonl", began)


LIES = {
    "it is on no host either": (not_left, "global_model_saved", None),
    "nobody loaded it": (
        lambda run: events(run / "evidence/job.jsonl", lambda event: None),
        "saved_models_load",
        None,
    ),
    "it did not load": (saved(error="EOFError", values=0, digest=None), "saved_models_load", False),
    "it is all zeros": (saved(norm=0.0), "global_model_saved", False),
    "it is not finite": (saved(finite=False, norm=None), "global_model_saved", False),
    "it is the first one": (as_it_began, "saved_models_load", False),
    "no site sent as many values": (saved(values=163037185), "saved_models_load", None),
    "it is not too large": (as_small_as_it_gets, "saved_models_load", None),
}


def test_it_passes_by_what_was_seen_there(run):
    verdict = judge(run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    said = {result.claim: result.says for result in verdict.evidence}
    assert "stayed on the host" in said["global_model_saved"]
    assert "163037184 values" in said["global_model_saved"]


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_no_pass(run, lie):
    change, claim, holds = LIES[lie]
    change(run)
    verdict = judge(run)
    assert verdict.verdict in ({"FAIL"} if holds is False else {"UNPROVEN", "FAIL"})
    assert next(result.holds for result in verdict.evidence if result.claim == claim) is holds


def test_an_example_tells_the_gpus_that_its_sites_held(run):
    seen = [(device.site, device.rank, device.name) for device in judge(run).devices]
    assert seen == [(site, rank, "NVIDIA H200") for site in ("site-1", "site-2") for rank in (0, 1)]
