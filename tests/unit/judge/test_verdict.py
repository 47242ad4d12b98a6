# SPDX-License-Identifier: Apache-2.0
"""The judge: a clean run passes, and every claim has a run in which it fails."""

import json
import re
from pathlib import Path

import pytest
from samples.edits import edit, events, json_in, result_of

from rekindle.judge import CHECKS, is_claim, judge_run
from rekindle.judge.opener import open_run
from rekindle.records import RecordError, RunSpec, read_record

RUNS = Path(__file__).parents[2] / "recordings" / "runs"


def test_the_recorded_run_passes(clean_run):
    verdict = judge_run(clean_run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    assert verdict.duration_s == json.loads((clean_run / "ended.json").read_text())["duration_s"]
    assert len(verdict.rounds) == 6
    assert verdict.rounds[-1].metrics["accuracy"] > 0.9
    assert verdict.final_metrics["accuracy"] >= 0.95


def test_every_claim_of_the_job_names_a_file_with_its_digest(clean_run):
    for result in judge_run(clean_run).evidence:
        if not is_claim(result.claim) or result.state == "not applicable":
            continue  # other checks hold everywhere
        assert (clean_run / result.file).is_file()
        assert re.fullmatch(r"[0-9a-f]{64}", result.sha256)


def _claims(run, *claims):
    with json_in(run / "spec.json") as spec:
        spec["job"]["proof"] += claims


def test_a_log_line_is_asked_for_only_where_its_backend_was_used(clean_run):
    shown = {"claim": "site_logs_show", "options": {"backend": "gloo", "text": "launching new subprocess"}}
    other = {"claim": "site_logs_show", "options": {"backend": "NcclAllReduce", "text": "no such words"}}
    _claims(clean_run, shown, other)
    verdict = judge_run(clean_run)
    assert verdict.verdict == "PASS"
    states = [result.state for result in verdict.evidence if result.claim == "site_logs_show"]
    assert states == ["holds", "not applicable"]


@pytest.mark.parametrize("losses", [[0.00140459] * 7 + [0.0713968], [1e-9] + [0.0] * 7, [0.0] * 8])
def test_a_loss_that_has_converged_may_rise_again_and_may_be_zero(clean_run, losses):
    for path in (clean_run / "evidence").glob("site-*.rank-*.jsonl"):
        edit(path, r'("round": 2\b.*"losses": )\[[^]]*\]', rf"\1{losses}")
    verdict = judge_run(clean_run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)


@pytest.mark.parametrize(("rounds", "state"), [(1, "holds"), (3, "unknown")])
def test_one_loss_has_nothing_to_fall_from_but_each_round_has_one(clean_run, rounds, state):
    def early(event):
        if event["event"] == "round":
            event = event | {"losses": [0.5] if event["round"] == 0 else []}
        return event if event.get("round", 0) < rounds else None

    for path in (clean_run / "evidence").glob("site-*.rank-*.jsonl"):
        events(path, early)
    assert CHECKS["loss_falls"].result(open_run(clean_run)).state == state


def test_a_claim_that_fails_outranks_an_unknown_one(clean_run):
    (clean_run / "evidence/site-1.rank-1.jsonl").unlink()
    assert judge_run(clean_run).verdict == "UNPROVEN"
    edit(clean_run / "evidence/job.jsonl", r'"accuracy": [\d.]+', '"accuracy": 0.949')
    verdict = judge_run(clean_run)
    assert {result.state for result in verdict.evidence} == {"holds", "fails", "unknown", "not applicable"}
    assert verdict.verdict == "FAIL"


def test_a_run_without_any_evidence_is_unproven_however_well_its_server_did(clean_run):
    """Thirty-one seconds, exit status 0, a clean log, and nobody who trained."""
    for path in (clean_run / "evidence").iterdir():
        path.unlink()
    verdict = judge_run(clean_run)
    assert verdict.verdict == "UNPROVEN"
    assert all(result.state != "fails" for result in verdict.evidence)


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        ({"reason": "limit", "exit_status": None}, "HUNG"),
        ({"reason": "interrupted", "exit_status": None}, "FAIL"),
        ({"exit_status": 1}, "FAIL"),
    ],
)
def test_a_run_that_did_not_end_well_is_no_pass_whatever_it_shows(clean_run, ended, verdict):
    with json_in(clean_run / "ended.json") as recorded:
        recorded.update(ended)
    assert judge_run(clean_run).verdict == verdict


@pytest.mark.parametrize(
    ("right", "remedy"), [(False, "Send a result for each model"), (True, "See what it waits")]
)
def test_a_trainer_that_got_one_model_for_ever_is_to_send_a_result(clean_run, right, remedy):
    with json_in(clean_run / "ended.json") as recorded:
        recorded.update(reason="hung", exit_status=None, message="site-1 gets the same model over and over.")
    nonce = read_record(clean_run / "spec.json", RunSpec).nonce
    event = {"event": "use", "nonce": nonce, "site": "site-1", "place": "client.py:9", "by": "turns"}
    with (clean_run / "evidence/site-1.server.jsonl").open("a") as stream:
        for number, each in enumerate((False, right)):
            print(json.dumps({**event, "time": 5.0 + number, "right": each}), file=stream)
    verdict = judge_run(clean_run)
    assert (verdict.verdict, verdict.remedy[: len(remedy)]) == ("HUNG", remedy)


def test_the_last_words_of_job_py_are_the_cause(clean_run):
    edit(clean_run / "ended.json", '"exit_status": 0', '"exit_status": 1')
    (clean_run / "job.log").write_text("working\n/data/site-1/training.jsonl is missing. Fix: give it.\n\n")
    message = "job.py ended with status 1: /data/site-1/training.jsonl is missing. Fix: give it."
    assert judge_run(clean_run).cause == message


def test_a_claim_that_nobody_knows_is_unproven(clean_run):
    edit(clean_run / "spec.json", r'"claim":\s*"duration_plausible"', '"claim":"moon_is_full"')
    assert judge_run(clean_run).verdict == "UNPROVEN"


def test_a_claim_without_its_option_is_refused(clean_run):
    edit(clean_run / "spec.json", r'"at_least":', '"at_most":')
    with pytest.raises(RecordError, match=r"without its option 'at_least'\. Fix:"):
        judge_run(clean_run)


def test_the_first_exception_is_the_cause(clean_run):
    with (clean_run / "evidence/site-2.rank-0.jsonl").open("a") as stream:
        event = {"event": "exception", "time": 5.0, "site": "site-2", "rank": 0}
        first = {"kind": "ModuleNotFoundError", "message": "No module named 'x'", "place": "client.py:9"}
        stream.write(json.dumps({**event, **first}) + "\n")
        echo = {"time": 9.0, "kind": "Echo", "message": "", "place": "a.py:1"}
        stream.write(json.dumps({**event, **echo}) + "\n")
    edit(clean_run / "ended.json", '"exit_status": 0', '"exit_status": 1')
    verdict = judge_run(clean_run)
    assert verdict.cause == "site-2 rank 0 raised ModuleNotFoundError: No module named 'x' at client.py:9."
    assert "requirements: in job.yml" in verdict.remedy


def test_a_verdict_carries_memory_and_bytes():
    verdict = judge_run(RUNS / "tensor_stream-cpu-2")
    assert set(verdict.host_memory_mib) == {"server", "site-1", "site-2"}
    assert all(job_round.bytes_in == job_round.bytes_out == 564224 for job_round in verdict.rounds)


def test_trackers_that_nobody_asked_for_are_not_asked_about(clean_run):
    _claims(clean_run, {"claim": "tracked"})
    assert result_of(judge_run(clean_run), "tracked").state == "not applicable"


def test_a_run_of_an_earlier_version_is_refused_in_a_sentence(clean_run):
    with json_in(clean_run / "spec.json") as spec:
        spec["job"]["example"] = None
    with pytest.raises(RecordError, match=r"is a run of an earlier version of Rekindle\. Fix: run the job"):
        judge_run(clean_run)
