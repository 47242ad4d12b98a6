"""Claims on what sites and server exchange: each has a run in which it does not hold."""

import json
import shutil
from pathlib import Path

import pytest
from recorded_edits import edit

from rekindle.judge import judge

RUNS = Path(__file__).parents[2] / "recordings" / "runs"
SERVER = "job/workspace/llm_sft/server/log.txt"
SITE = "job/workspace/llm_sft/site-2/log.txt"
ROUND = "evidence/site-2.rank-0.jsonl"


BROKEN = [
    ("llm_peft", "bytes_exchanged", False, (ROUND, r'"bytes_out": \d+', '"bytes_out": 90000000')),
    ("llm_peft", "bytes_exchanged", None, (ROUND, r'"bytes_out": \d+', '"bytes_out": null')),
    (
        "llm_peft",
        "bytes_exchanged",
        None,
        ("evidence/job.jsonl", r'"model_bytes": \d+', '"model_bytes": null'),
    ),
    (
        "llm_peft",
        "messages_quantised",
        False,
        (SITE, r"Quantized (\d+)/\d+ params", r"Quantized 1/\1 params"),
    ),
    (
        "llm_peft",
        "messages_quantised",
        False,
        (SITE, r"After quantization: 0\.\d+", "After quantization: 0.90"),
    ),
    ("llm_peft", "messages_quantised", False, (SERVER, r".*Quantized \d+/\d+ params.*\n", "")),
    (
        "llm_peft",
        "tracking_read_back",
        False,
        ("evidence/job.jsonl", r'\["site-2", "loss", 1, [\d.]+\]', '["site-2", "loss", 1, 0.5]'),
    ),
    (
        "llm_peft",
        "tracking_read_back",
        False,
        ("evidence/job.jsonl", r'\["site-2", "loss", 1,', '["site-2", "loss", 7,'),
    ),
    ("llm_peft", "tracking_read_back", None, ("evidence/job.jsonl", r'.*"tracker": "wandb".*\n', "")),
    (
        "llm_peft",
        "metric_fell",
        False,
        ("evidence/job.jsonl", r'"metrics": \{"eval_loss": [\d.]+', '"metrics": {"eval_loss": 10.0'),
    ),
    (
        "llm_peft",
        "metric_fell",
        None,
        ("evidence/job.jsonl", r'"metrics": \{"eval_loss": [\d.]+', '"metrics": {"eval_loss": null'),
    ),
    (
        "llm_peft",
        "every_rank_trained",
        False,
        ("evidence/site-2.rank-1.jsonl", r'"model_out": "\w{4}', '"model_out": "0000'),
    ),
    ("tensor_stream", "tensors_streamed", False, (SERVER, r".*consumed blobs from peer 'site-2'.*\n", "")),
    (
        "tensor_stream",
        "tensors_streamed",
        False,
        (SERVER, r"(produced blobs for peer 'site-1' with) \d+", r"\1 0"),
    ),
    ("tensor_stream", "memory_told", None, ("samples.jsonl", r'"site-2":\d+', '"site-2":0')),
]


@pytest.mark.parametrize(("job", "claim", "holds", "damage"), BROKEN)
def test_a_broken_run_is_no_pass(tmp_path, job, claim, holds, damage):
    run = Path(shutil.copytree(RUNS / f"{job}-cpu-2", tmp_path / "run"))
    file, old, new = damage
    edit(run / file, old, new)
    verdict = judge(run)
    assert next(result for result in verdict.evidence if result.claim == claim).holds is holds
    assert verdict.verdict == ("FAIL" if holds is False else "UNPROVEN")


def test_a_verdict_carries_memory_and_bytes():
    verdict = judge(RUNS / "tensor_stream-cpu-2")
    assert set(verdict.host_memory_mib) == {"server", "site-1", "site-2"}
    assert all(job_round.bytes_in == job_round.bytes_out == 13817856 for job_round in verdict.rounds)


def test_trackers_that_nobody_asked_for_are_not_asked_about():
    assert not [
        result for result in judge(RUNS / "llm_sft-cpu-2").evidence if result.claim == "tracking_read_back"
    ]


def test_quantised_messages_start_every_site_from_one_model(tmp_path):
    run = Path(shutil.copytree(RUNS / "llm_peft-cpu-2", tmp_path / "run"))
    edit(run / ROUND, r'"model_in": "\w{4}', '"model_in": "0000', count=1)
    assert not next(result for result in judge(run).evidence if result.claim == "model_changed").holds


def test_without_that_option_a_site_starts_from_the_initial_model(tmp_path):
    run = Path(shutil.copytree(RUNS / "llm_peft-cpu-2", tmp_path / "run"))
    spec = json.loads((run / "spec.json").read_text())
    next(claim for claim in spec["job"]["proof"] if claim["claim"] == "model_changed")["options"] = {}
    (run / "spec.json").write_text(json.dumps(spec))
    assert not next(result for result in judge(run).evidence if result.claim == "model_changed").holds
