"""The judge: a clean run passes, and every claim has a run in which it fails."""

import json
import re

import pytest
from recorded_edits import edit

from rekindle.judge import judge, known
from rekindle.records import RecordError

SERVER = "job/workspace/pt_ddp/server"


def _claim(verdict, name):
    return next(result for result in verdict.evidence if result.claim == name)


def test_the_recorded_run_passes(clean_run):
    verdict = judge(clean_run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    assert verdict.duration_s == json.loads((clean_run / "ended.json").read_text())["duration_s"]
    assert len(verdict.rounds) == 6
    assert verdict.rounds[-1].metrics["accuracy"] > 0.9
    assert verdict.final_metrics["accuracy"] >= 0.95


def test_every_claim_of_the_job_names_a_file_with_its_digest(clean_run):
    for result in judge(clean_run).evidence:
        if not known(result.claim) or not result.applies:
            continue  # other checks hold everywhere
        assert (clean_run / result.file).is_file()
        assert re.fullmatch(r"[0-9a-f]{64}", result.sha256)


def _aggregation_missing(run):
    edit(run / SERVER / "log.txt", r".*Aggregated 2/2 results.*\n", "", count=1)


def _one_site_missing(run):
    edit(run / SERVER / "log.txt", r"Aggregated 2/2 results", "Aggregated 1/1 results", count=1)


def _device_not_told(run):
    edit(run / "evidence/site-2.rank-1.jsonl", r'\A\{"event": "device".*\n', "")


def _on_a_gpu_not_given(run):
    edit(run / "evidence/site-1.rank-0.jsonl", r'"uuid": null', '"uuid": "GPU-stolen"')


def _one_rank_trained_less(run):
    edit(run / "evidence/site-1.rank-1.jsonl", r'\{"event": "round".*\n\Z', "")


def _unchanged_weights(run):
    edit(
        run / "evidence/site-2.rank-0.jsonl",
        r'"model_in": "(\w+)"(.*?)"model_out": "\w+"',
        r'"model_in": "\1"\2"model_out": "\1"',
    )


def _no_samples(run):
    edit(run / "evidence/site-2.rank-0.jsonl", r'"samples": \d+', '"samples": 0')


def _loss_not_finite(run):
    edit(run / "evidence/site-1.rank-0.jsonl", r'"losses": \[[\d.]+', '"losses": [null', count=1)


def _loss_rises(run):
    edit(run / "evidence/site-1.rank-0.jsonl", r'"losses": \[[\d.]+', '"losses": [0.0000001', count=1)


def _one_loss(run):
    for name in ("site-1.rank-0", "site-2.rank-0"):
        edit(run / f"evidence/{name}.jsonl", r'"losses": \[[^]]*\]', '"losses": []')


def _final_is_initial(run):
    edit(
        run / "evidence/job.jsonl",
        r'"initial": "(\w+)", "final": "\w+", "distance": [\d.]+',
        r'"initial": "\1", "final": "\1", "distance": 0.0',
    )


def _another_start(run):
    edit(run / "evidence/site-1.rank-0.jsonl", r'"model_in": "\w+"', f'"model_in": "{"f00d" * 16}"', count=1)


def _no_final(run):
    (run / "evidence/job.jsonl").unlink()


def _low_accuracy(run):
    edit(run / "evidence/job.jsonl", r'"accuracy": [\d.]+', '"accuracy": 0.949')


def _nan_accuracy(run):
    edit(run / "evidence/job.jsonl", r'"accuracy": [\d.]+', '"accuracy": null')


def _error_logged(run):
    (run / SERVER / "log_error.txt").write_text("ERROR\n")


def _error_logged_as_since_2_8(run):
    (run / SERVER / "log_error.txt").rename(run / SERVER / "error_log.txt").write_text("ERROR\n")


def _given_up(run):
    with (run / SERVER / "log.txt").open("a") as log:
        log.write("Aborting current RUN due to FATAL_SYSTEM_ERROR received: Result from site-2 is bad\n")


def _no_error_log(run):
    (run / SERVER / "log_error.txt").unlink()


def _first_on_another_device(run):
    """A rank that was started twice, at first on a GPU that was not its own."""
    path = run / "evidence/site-1.rank-0.jsonl"
    first = path.read_text().splitlines(keepends=True)[0]
    path.write_text(first.replace('"uuid": null', '"uuid": "GPU-stolen"') + path.read_text())


def _no_trace_of_a_rank(run):
    (run / "evidence/site-1.rank-1.jsonl").unlink()


def _device_but_no_round(run):
    edit(run / "evidence/site-1.rank-1.jsonl", r'\{"event": "round".*\n', "")


def _log_cut_before_its_end(run):
    path = run / SERVER / "log.txt"
    path.write_text(path.read_text().partition("Finished FedAvg.")[0])


def _log_does_not_show(run):
    _claims(run, {"claim": "site_logs_show", "options": {"backend": "gloo", "text": "algorithm = nccl"}})


def _claims(run, *claims):
    path = run / "spec.json"
    spec = json.loads(path.read_text())
    spec["job"]["proof"] += claims
    path.write_text(json.dumps(spec))


def _metric_missing_once(run):
    _claims(run, {"claim": "best_model_selected"})
    edit(run / SERVER / "log.txt", r".* - validation metric \S+ from client site-2\n", "", count=1)


def _no_best(run):
    _claims(run, {"claim": "best_model_selected"})
    edit(run / SERVER / "log.txt", r".*new best validation metric.*\n", "")


BROKEN = [
    ("best_model_selected", _metric_missing_once, False),
    ("best_model_selected", _no_best, False),
    ("site_logs_show", _log_does_not_show, False),
    ("rounds_aggregated", _aggregation_missing, False),
    ("rounds_aggregated", _one_site_missing, False),
    ("every_rank_on_its_device", _device_not_told, None),
    ("every_rank_on_its_device", _on_a_gpu_not_given, False),
    ("every_rank_trained", _one_rank_trained_less, False),
    ("every_rank_trained", _unchanged_weights, False),
    ("every_rank_trained", _no_samples, False),
    ("loss_falls", _loss_not_finite, False),
    ("loss_falls", _loss_rises, False),
    ("loss_falls", _one_loss, None),
    ("model_changed", _final_is_initial, False),
    ("model_changed", _another_start, False),
    ("model_changed", _no_final, None),
    ("metric_reached", _low_accuracy, False),
    ("metric_reached", _nan_accuracy, None),
    ("server_log_clean", _error_logged, False),
    ("server_log_clean", _error_logged_as_since_2_8, False),
    ("server_log_clean", _given_up, False),
    ("server_log_clean", _no_error_log, None),
    ("every_rank_on_its_device", _first_on_another_device, False),
    ("every_rank_trained", _no_trace_of_a_rank, None),
    ("every_rank_trained", _device_but_no_round, False),
    ("server_log_clean", _log_cut_before_its_end, None),
]


@pytest.mark.parametrize(("claim", "damage", "holds"), BROKEN)
def test_each_claim_fails_where_it_should(clean_run, claim, damage, holds):
    damage(clean_run)
    verdict = judge(clean_run)
    assert _claim(verdict, claim).holds is holds
    assert verdict.verdict == ("FAIL" if holds is False else "UNPROVEN")
    assert verdict.cause
    assert verdict.remedy


def test_a_log_line_is_asked_for_only_where_its_backend_was_used(clean_run):
    shown = {"claim": "site_logs_show", "options": {"backend": "gloo", "text": "launching new subprocess"}}
    other = {"claim": "site_logs_show", "options": {"backend": "NcclAllReduce", "text": "no such words"}}
    _claims(clean_run, shown, other)
    verdict = judge(clean_run)
    assert verdict.verdict == "PASS"
    states = [result.state for result in verdict.evidence if result.claim == "site_logs_show"]
    assert states == ["holds", "not applicable"]


def test_the_best_model_is_selected_by_what_every_site_sent(clean_run):
    _claims(clean_run, {"claim": "best_model_selected"})
    assert judge(clean_run).verdict == "PASS"
    assert _claim(judge(clean_run), "best_model_selected").holds


@pytest.mark.parametrize("losses", [[0.00140459] * 7 + [0.0713968], [1e-9] + [0.0] * 7, [0.0] * 8])
def test_a_loss_that_has_converged_may_rise_again_and_may_be_zero(clean_run, losses):
    for path in (clean_run / "evidence").glob("site-*.jsonl"):
        edit(path, r'("round": 2\b.*"losses": )\[[^]]*\]', rf"\1{losses}")
    verdict = judge(clean_run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)


def test_weights_that_are_not_finite_are_not_called_unmoved(clean_run):
    edit(clean_run / "evidence/job.jsonl", r'"distance": [\d.]+', '"distance": null')
    verdict = judge(clean_run)
    assert verdict.verdict == "FAIL"
    assert verdict.cause == "The final global model has weights that are not finite, or of another shape."


def test_a_claim_that_fails_outranks_one_that_cannot_be_told(clean_run):
    _no_trace_of_a_rank(clean_run)
    assert judge(clean_run).verdict == "UNPROVEN"
    _low_accuracy(clean_run)
    verdict = judge(clean_run)
    assert {result.holds for result in verdict.evidence} == {True, False, None}
    assert verdict.verdict == "FAIL"


def test_a_run_without_any_evidence_is_unproven_however_well_its_server_did(clean_run):
    """Thirty-one seconds, exit status 0, a clean log, and nobody who trained."""
    for path in (clean_run / "evidence").iterdir():
        path.unlink()
    verdict = judge(clean_run)
    assert verdict.verdict == "UNPROVEN"
    assert all(result.holds is not False for result in verdict.evidence)


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        ({"reason": "limit", "exit_status": None}, "HUNG"),
        ({"reason": "interrupted", "exit_status": None}, "FAIL"),
        ({"exit_status": 1}, "FAIL"),
    ],
)
def test_a_run_that_did_not_end_well_is_no_pass_whatever_it_shows(clean_run, ended, verdict):
    path = clean_run / "ended.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **ended}))
    assert judge(clean_run).verdict == verdict


def test_what_job_py_said_as_it_gave_up_is_the_cause(clean_run):
    path = clean_run / "ended.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "exit_status": 1}))
    (clean_run / "job.log").write_text("working\n/data/site-1/training.jsonl is missing. Fix: give it.\n\n")
    said = "job.py ended with status 1: /data/site-1/training.jsonl is missing. Fix: give it."
    assert judge(clean_run).cause == said


def test_a_run_without_an_end_is_unproven(clean_run):
    (clean_run / "ended.json").unlink()
    assert judge(clean_run).verdict == "UNPROVEN"


def test_a_claim_that_nobody_knows_is_unproven(clean_run):
    edit(clean_run / "spec.json", r'"claim":\s*"loss_falls"', '"claim":"moon_is_full"')
    assert judge(clean_run).verdict == "UNPROVEN"


def test_a_claim_without_its_option_is_refused(clean_run):
    edit(clean_run / "spec.json", r'"at_least":', '"at_most":')
    with pytest.raises(RecordError, match=r"lacks its option 'at_least'\. Fix:"):
        judge(clean_run)


def test_broken_lines_prove_nothing_and_break_nothing(clean_run):
    for path in (clean_run / "evidence").iterdir():
        path.write_bytes(b'{"event": "round", "time"\n\xff\xfe\n[1]\n{"event": "moon", "time": 1}\n')
    assert judge(clean_run).verdict in {"FAIL", "UNPROVEN"}


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(RecordError, match=r"is not a run: .* Fix: "):
        judge(tmp_path)


def test_the_first_exception_is_the_cause(clean_run):
    with (clean_run / "evidence/site-2.rank-0.jsonl").open("a") as stream:
        event = {"event": "exception", "time": 5.0, "site": "site-2", "rank": 0}
        first = {"kind": "ModuleNotFoundError", "message": "No module named 'x'", "place": "client.py:9"}
        stream.write(json.dumps({**event, **first}) + "\n")
        echo = {"time": 9.0, "kind": "Echo", "message": "", "place": "a.py:1"}
        stream.write(json.dumps({**event, **echo}) + "\n")
    edit(clean_run / "ended.json", '"exit_status": 0', '"exit_status": 1')
    verdict = judge(clean_run)
    assert verdict.cause == "site-2 rank 0 raised ModuleNotFoundError: No module named 'x' at client.py:9."
    assert "lock" in verdict.remedy
