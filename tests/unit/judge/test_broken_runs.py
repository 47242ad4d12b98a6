# SPDX-License-Identifier: Apache-2.0
"""Every check has a recorded run in which it does not hold, once that is broken."""

import json
import re
import shutil
from pathlib import Path

import pytest
from lies import LIES as JOBS
from samples.edits import added, events, json_in, lines_in, put_lines, removed, replaced, result_of
from samples.one_cause import agree
from test_example_lies import LIES as EXAMPLES
from test_foreign import BROKEN as FOREIGN
from test_foreign_examples import LIES as FOREIGN_EXAMPLES

from rekindle.judge import CHECKS, judge_run

RUNS = Path(__file__).parents[2] / "recordings" / "runs"
SERVER = "job/workspace/pt_ddp/server"
LOG, ERRORS = f"{SERVER}/log.txt", f"{SERVER}/log_error.txt"
SITE_1 = "job/workspace/pt_ddp/site-1/log.txt"
SITE, SITE_ERRORS = (f"job/workspace/pt_ddp/site-2/{log}.txt" for log in ("log", "log_error"))
OLDER_ERRORS = "job/workspace/pt_ddp/site-2/error_log.txt"
MODEL = f"{SERVER}/simulate_job/app_server/FL_global_model.pt"
LLM_SERVER, LLM_SITE = (f"job/workspace/llm_sft/{name}/log.txt" for name in ("server", "site-2"))
ONE, ONE_1, TWO, TWO_1 = (f"evidence/site-{site}.rank-{rank}.jsonl" for site in (1, 2) for rank in (0, 1))
WITNESS, FINAL = "evidence/server.jsonl", "evidence/job.jsonl"


def event(file, kind, change, **where):
    """Return what alters the events of a kind with such fields, and drops those of which it makes None."""

    def one(recorded):
        if recorded["event"] == kind and where.items() <= recorded.items():
            return change(recorded) if callable(change) else {**recorded, **change}
        return recorded

    return lambda run: events(run / file, one)


def result(change, **where):
    """Return what alters the results of sites, as the server recorded them."""
    return event(WITNESS, "task", change, **where)


def final(**fields):
    """Return what alters what job.py reported of the final model."""
    return event(FINAL, "final", fields)


def saved(**fields):
    """Return what alters how the saved models loaded."""
    return event(FINAL, "model", fields)


def the_first_model_saved(run):
    """Have the server save the model that the run began with."""
    began = next(line for line in lines_in(run / WITNESS) if line["event"] == "model")
    saved(digest=began["digest"])(run)


def shifted(name):
    """Return what alters a sketch."""
    return lambda recorded: recorded | {name: [value + 1 for value in recorded[name]]}


def kept(change):
    """Return what alters each value that TensorBoard gave back."""
    altered = lambda recorded: recorded | {"scalars": [change(*one) for one in recorded["scalars"]]}  # noqa: E731
    return event(FINAL, "tracking", altered, tracker="tensorboard")


def without_samples_in_between(run):
    """Leave the first and the last samples alone."""
    lines = lines_in(run / "samples.jsonl")
    put_lines(run / "samples.jsonl", [*lines[:2], *lines[-1:]])


def dropped(recorded):
    return None


def claims(*proof):
    """Return what has the job claim more."""

    def change(run):
        with json_in(run / "spec.json") as spec:
            spec["job"]["proof"] += proof

    return change


def every_site(change):
    """Return what alters what every rank wrote."""
    return lambda run: [events(path, change) for path in (run / "evidence").glob("site-*.jsonl")]


def same_as_site_1(run):
    """Make the server's records of both sites' models the same."""
    sent = {}
    result(lambda recorded: sent.setdefault(recorded["round"], recorded), site="site-1")(run)
    fields = ("sketch", "moved", "norm")
    copied = lambda recorded: recorded | {name: sent[recorded["round"]][name] for name in fields}  # noqa: E731
    result(copied, site="site-2")(run)


def first_on_another_device(run):
    """Start a rank twice, at first on another's GPU."""
    first = (run / ONE).read_text().splitlines(keepends=True)[0]
    (run / ONE).write_text(first.replace('"uuid": null', '"uuid": "GPU-stolen"') + (run / ONE).read_text())


def error_log_renamed(run):
    (run / ERRORS).rename(run / SERVER / "error_log.txt").write_text("ERROR\n")


def with_a_third_site(run):
    shutil.copytree((run / SITE).parent, (run / SITE).parents[1] / "site-3")


def another_final_first(run):
    better, *rest = lines_in(run / FINAL)
    put_lines(run / FINAL, [{**better, "metrics": {"accuracy": 0.99}}, better, *rest])


def a_rank_that_copies_another(run):
    device = lines_in(run / TWO_1)[0]
    put_lines(run / TWO_1, [device, *({**each, "rank": 1} for each in lines_in(run / TWO)[1:])])


def a_site_that_copies_anothers_log(run):
    """Give site-2 the log of site-1, with its own name and tasks."""
    ids = [re.findall(r"got task assignment: .* id=(\S+)", (run / log).read_text()) for log in (SITE_1, SITE)]
    text = (run / SITE_1).read_text().replace("site-1", "site-2")
    for theirs, own in zip(*ids, strict=True):
        text = text.replace(theirs, own)
    (run / SITE).write_text(text)


def an_earlier_log(run):
    """Move the times of a site's log by two seconds."""
    earlier = lambda found: f"{found[1]}{int(found[2]) - 2:02}"  # noqa: E731
    text = re.sub(r"(?m)^(\S+ \d\d:\d\d:)(\d\d)", earlier, (run / SITE).read_text())
    (run / SITE).write_text(text)


def job_log_of(other):
    """Return what puts what another job printed in place of what this one did."""
    return lambda run: shutil.copy(RUNS / other / "job.log", run)


def cut(file, keeps):
    """Return what leaves the beginning of a file: ``keeps`` is the share of it, or what goes, below zero."""

    def change(run):
        content = (run / file).read_bytes()
        (run / file).write_bytes(content[: keeps if keeps < 0 else int(keeps * len(content))])

    return change


def results_around_what_was_sent(run):
    """Have each round's results lie on both sides of the model that sites got, which stays."""
    sent = {}

    def one(recorded):
        number = recorded["round"]
        sent[number] = recorded["sent"]
        by = 1 if recorded["site"] == "site-1" else -1
        return recorded | {"sketch": [value + by for value in recorded["sent"]], "weight": 1.0}

    result(one)(run)
    event(WITNESS, "global", lambda model: model | {"sketch": sent.get(model["round"] - 1, model["sketch"])})(
        run
    )


def untrained(recorded):
    return recorded | {"model_out": recorded["model_in"]}


def later(seconds, since=0):
    """Return what moves times of the rounds from ``since`` on, and of all that is of no round."""
    moved = lambda recorded: seconds if recorded.get("round", since) >= since else 0  # noqa: E731
    return lambda recorded: recorded | {"time": recorded["time"] + moved(recorded)}


STAMP = "2026-11-21 08:48:20,250"
PRINTED = f"{STAMP} - SubprocessLauncher - INFO"
BEST = {"claim": "best_model_selected"}
NCCL = {"claim": "site_logs_show", "options": {"backend": "gloo", "text": "algorithm = nccl"}}
EXCEPTION = {"event": "exception", "time": 1795304150.0, "site": "site-2", "rank": 0, "kind": "ValueError"}
EXCEPTION |= {"message": "no", "place": "client.py:9"}
LOSSES = r'"losses": \[[\d.e-]+'
CUT_BEFORE_ITS_END = replaced(LOG, r"(?s)Finished FedAvg\..*")
ABORT = "Aborting current RUN due to FATAL_SYSTEM_ERROR received"
FAILED = "launcher completed with status failed"
FAILS, UNKNOWN = "fails", "unknown"
PT_DDP = [
    ("rounds_completed", FAILS, replaced(LOG, r".*Aggregated 2/2 results.*\n", count=1)),
    ("rounds_completed", FAILS, replaced(LOG, "Aggregated 2/2 results", "Aggregated 1/1 results", 1)),
    ("rounds_completed", UNKNOWN, cut(LOG, 0.5)),
    ("rounds_completed", UNKNOWN, removed(LOG, ERRORS)),
    ("every_site_took_part", FAILS, replaced(LOG, r".*got result from client site-2 .*\n", count=1)),
    ("best_model_selected", FAILS, claims(BEST), replaced(LOG, r".* metric \S+ .*site-2\n", count=1)),
    ("best_model_selected", FAILS, claims(BEST), replaced(LOG, r".*new best validation metric.*\n")),
    ("site_logs_show", FAILS, claims(NCCL)),
    ("every_rank_on_its_device", UNKNOWN, replaced(TWO_1, r'\A\{"event": "device".*\n')),
    ("every_rank_on_its_device", FAILS, event(ONE, "device", {"uuid": "GPU-stolen"})),
    ("every_rank_on_its_device", FAILS, first_on_another_device),
    ("every_site_worked", UNKNOWN, every_site(lambda recorded: recorded | {"pid": 4711})),
    ("every_site_worked", UNKNOWN, a_rank_that_copies_another),
    ("every_site_trained", FAILS, event(ONE_1, "round", dropped, round=2)),
    ("every_site_trained", FAILS, event(ONE_1, "round", dropped)),
    ("every_site_trained", FAILS, event(TWO, "round", untrained)),
    ("every_site_trained", FAILS, event(TWO_1, "round", {"model_out": "0" * 64})),
    ("every_site_trained", FAILS, event(TWO, "round", {"samples": 0})),
    ("every_site_trained", FAILS, cut(TWO_1, -40)),
    ("every_site_trained", FAILS, result({"moved": 0.0}, site="site-1")),
    ("every_site_trained", UNKNOWN, removed(ONE_1)),
    ("every_site_trained", UNKNOWN, result(lambda recorded: recorded | {"still": recorded["values"] - 9})),
    ("loss_falls", FAILS, replaced(ONE, LOSSES, '"losses": [null', 1)),
    ("loss_falls", FAILS, replaced(ONE, LOSSES, '"losses": [0.0000001', 1)),
    ("loss_falls", FAILS, event(ONE_1, "round", {"losses": [0.5, 0.5]})),
    ("loss_falls", UNKNOWN, event(ONE, "round", {"losses": []})),
    ("reported_metrics_are_finite", FAILS, replaced(ONE_1, LOSSES, '"losses": [null', 1)),
    ("reported_metrics_are_finite", UNKNOWN, event(TWO, "round", {"metrics": {"accuracy": 97.0}})),
    ("reported_metrics_are_finite", UNKNOWN, event(TWO, "round", {"metrics": {"accuracy": 0.999}})),
    ("reported_metrics_are_finite", UNKNOWN, added("job.log", 'Final metrics: {"accuracy": 0.5}')),
    ("global_model_saved", FAILS, saved(norm=0.0)),
    ("global_model_saved", FAILS, saved(infinite=1)),
    ("global_model_saved", FAILS, saved(error="RuntimeError: it is damaged")),
    ("global_model_saved", FAILS, the_first_model_saved),
    ("global_model_saved", UNKNOWN, removed(FINAL)),
    ("saved_models_load", FAILS, final(digest="0" * 64)),
    ("saved_models_load", UNKNOWN, saved(sha256="0" * 64)),
    ("saved_models_load", UNKNOWN, removed(MODEL), lambda run: (run / MODEL).symlink_to("/etc/hostname")),
    ("saved_models_load", UNKNOWN, removed(MODEL), lambda run: (run / MODEL).mkdir()),
    ("everything_is_read", UNKNOWN, added(LOG, "\n" * 1_000_001)),
    ("metric_reached", FAILS, final(metrics={"accuracy": 0.949})),
    ("metric_reached", UNKNOWN, final(metrics={"accuracy": None})),
    ("metric_reached", UNKNOWN, removed(FINAL)),
    ("duration_plausible", UNKNOWN, replaced("ended.json", r'"duration_s": [\d.]+', '"duration_s": 3.0')),
    ("duration_plausible", UNKNOWN, event(ONE, "round", {"seconds": 60.0})),
    ("duration_plausible", UNKNOWN, event(TWO_1, "round", {"seconds": 60.0})),
    ("duration_plausible", UNKNOWN, every_site(later(3600))),
    ("duration_plausible", UNKNOWN, every_site(later(3600, since=1))),
    ("duration_plausible", UNKNOWN, every_site(later(-3600, since=1))),
    ("duration_plausible", UNKNOWN, event(TWO, "round", later(1))),
    ("duration_plausible", UNKNOWN, replaced(LOG, r"Round 1 started\.")),
    ("duration_plausible", UNKNOWN, removed("ended.json")),
    ("server_recorded_every_result", UNKNOWN, result(dropped, site="site-1", round=1)),
    ("server_recorded_every_result", UNKNOWN, result({"round": 0}, site="site-1", round=1)),
    ("results_are_good", FAILS, result({"return_code": "EXECUTION_EXCEPTION"}, site="site-1")),
    ("results_are_good", FAILS, result({"finite": False, "moved": None}, site="site-1")),
    ("results_are_good", FAILS, added(SITE, f"{STAMP} - Launcher - INFO - {FAILED}")),
    ("every_site_counts", FAILS, result({"weight": 0.0}, site="site-1")),
    ("results_are_their_own", UNKNOWN, same_as_site_1),
    ("global_model_is_the_mean", FAILS, result({"weight": 9000.0}, site="site-1")),
    ("global_model_is_the_mean", UNKNOWN, event(WITNESS, "global", dropped, round=2)),
    ("global_model_is_the_mean", FAILS, results_around_what_was_sent),
    ("trainers_start_from_the_servers_model", FAILS, result(shifted("sent"), round=1)),
    ("server_gets_what_trainers_made", FAILS, result(shifted("sketch"), round=1)),
    ("logs_are_whole", UNKNOWN, CUT_BEFORE_ITS_END),
    ("logs_are_whole", UNKNOWN, removed(SITE)),
    ("logs_are_whole", UNKNOWN, cut("job.log", 0.5)),
    ("logs_are_whole", UNKNOWN, job_log_of("lightning_ddp-cpu-2")),
    ("logs_are_whole", UNKNOWN, added(SITE, "\0\0")),
    ("no_error_logged", FAILS, added(SITE, f"{STAMP} - ClientRunner - ERROR - it failed")),
    ("no_error_logged", FAILS, added(SITE_ERRORS, f"{STAMP} - ClientRunner - ERROR - it failed")),
    ("no_error_logged", FAILS, added(LOG, f"{ABORT}: no")),
    ("no_error_logged", FAILS, added(OLDER_ERRORS, f"{STAMP} - ClientRunner - ERROR - it failed")),
    ("no_error_logged", UNKNOWN, removed(SITE_ERRORS)),
    ("no_error_logged", UNKNOWN, removed(ERRORS)),
    ("no_error_logged", UNKNOWN, added(ERRORS, "ERROR")),
    ("no_error_logged", UNKNOWN, error_log_renamed),
    ("trainers_print_no_failure", UNKNOWN, added(SITE, f"{PRINTED} - RuntimeError: CUDA error: no")),
    ("job_printed_no_error", FAILS, added("job.log", "Traceback (most recent call last):\nValueError: no")),
    ("job_printed_no_error", UNKNOWN, removed("job.log")),
    ("sites_had_the_servers_tasks", UNKNOWN, replaced(SITE, r".*task result sent to server\n", count=1)),
    ("sites_had_the_servers_tasks", UNKNOWN, an_earlier_log),
    ("logs_are_of_their_sites", UNKNOWN, with_a_third_site),
    ("logs_are_of_their_sites", UNKNOWN, a_site_that_copies_anothers_log),
    ("logs_are_of_their_sites", UNKNOWN, replaced(SITE, "for client: site-2", "for client: site-1")),
    ("all_within_the_run", UNKNOWN, event(TWO_1, "device", {"time": 1.0})),
    ("nobody_raised", FAILS, added(TWO, json.dumps(EXCEPTION))),
    ("everything_is_read", UNKNOWN, added(TWO, '{"event": "moon", "time": 1}')),
    ("all_of_this_run", UNKNOWN, event(TWO, "device", {"nonce": "0" * 32})),
    ("everyone_writes_their_own", UNKNOWN, event(TWO, "device", {"site": "site-1"})),
    ("everyone_writes_their_own", UNKNOWN, another_final_first),
    ("everyone_writes_their_own", UNKNOWN, event(WITNESS, "configuration", {"member": "site-1"})),
    ("sampled_all_along", UNKNOWN, replaced("ended.json", r'"duration_s": ?', '"duration_s": 9')),
    ("sampled_all_along", UNKNOWN, without_samples_in_between),
]
LLM_PEFT = [
    ("bytes_exchanged", FAILS, event(TWO, "round", {"bytes_out": 90_000_000})),
    ("bytes_exchanged", UNKNOWN, event(TWO, "round", {"bytes_out": None})),
    ("bytes_exchanged", UNKNOWN, final(model_bytes=None)),
    ("messages_quantised", FAILS, replaced(LLM_SITE, r"(Quantized) (\d+)/\d+", r"\1 1/\2")),
    ("messages_quantised", FAILS, replaced(LLM_SITE, r"(After quantization:) 0\.\d+", r"\1 0.90")),
    ("messages_quantised", FAILS, replaced(LLM_SERVER, r".*Quantized \d+/\d+ params.*\n")),
    ("tracked", FAILS, kept(lambda name, tag, step, value: (name, tag, step, 2 * value))),
    ("tracked", FAILS, kept(lambda name, tag, step, value: (name, tag, step + 7, value))),
    ("tracked", FAILS, kept(lambda name, tag, step, value: (name, tag, step, None))),
    ("tracked", FAILS, kept(lambda name, tag, step, value: (f"site-1-{step}", tag, step, value))),
    ("tracked", FAILS, event(FINAL, "tracking", dropped, tracker="wandb")),
    ("tracked", UNKNOWN, event(FINAL, "tracking", {"error": "it is damaged"}, tracker="wandb")),
    ("metric_fell", FAILS, final(metrics={"eval_loss": 10.0})),
    ("metric_fell", UNKNOWN, final(metrics={"eval_loss": None})),
]
TENSOR_STREAM = [
    ("tensors_streamed", FAILS, replaced(LLM_SERVER, r".*consumed blobs from peer 'site-2'.*\n")),
    ("tensors_streamed", FAILS, replaced(LLM_SERVER, r"(produced .* 'site-1' with) \d+", r"\1 0")),
    ("memory_recorded", UNKNOWN, replaced("samples.jsonl", r'"site-2":\d+', '"site-2":0')),
]
RECORDED = {"pt_ddp": PT_DDP, "llm_peft": LLM_PEFT, "tensor_stream": TENSOR_STREAM}
BROKEN = [(job, case) for job, cases in RECORDED.items() for case in cases]
OF_EACH = [name for _, (name, *_) in BROKEN]
IDS = [f"{name} {OF_EACH[:number].count(name) + 1}" for number, name in enumerate(OF_EACH)]


@pytest.mark.parametrize(("job", "case"), BROKEN, ids=IDS)
def test_a_broken_run_is_no_pass(golden, tmp_path, job, case):
    name, state, *damage = case
    run = Path(shutil.copytree(RUNS / f"{job}-cpu-2", tmp_path / "run"))
    for change in damage:
        change(run)
    verdict = judge_run(run)
    assert result_of(verdict, name).state == state
    certain = state == FAILS and result_of(verdict, "everything_is_read").state != UNKNOWN
    assert verdict.verdict in ({"FAIL"} if certain else {"UNPROVEN", "FAIL"})
    assert verdict.remedy
    golden(verdict.cause)
    agree(run, verdict)


ELSEWHERE = {
    "test_gpu_errors.py": {"no_gpu_errors"},
    "test_gpus.py": {"gpus_used"},
    "test_judge_nodes.py": {"ranks_on_their_nodes", "ranks_crossed_the_network"},
    "test_measured.py": {"gpus_accepted"},
    "test_sent.py": {"made_under_its_nonce", "files_are_as_sent"},
    "test_foreign_examples.py": {"flower_results_received"},
    "test_judge_federation.py": {"only_sites_connected", "sites_stayed"},
    "they report, and hold for any run": {"runs_as_described", "nodes_keep_pace", "rounds_over_the_network"},
}


def test_every_check_has_a_run_that_breaks_it():
    seen = {*OF_EACH, *EXAMPLES} | {job.check for job in JOBS}
    seen |= {name for _, name, _ in FOREIGN} | {name for _, _, name, _ in FOREIGN_EXAMPLES}
    assert CHECKS.keys() <= seen | set().union(*ELSEWHERE.values())
