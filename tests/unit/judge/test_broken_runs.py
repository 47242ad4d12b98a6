"""Every check has a recorded run in which it does not hold, once that is broken."""

import json
import shutil
from pathlib import Path

import pytest
from lies import LIES as JOBS
from recorded_edits import edit, events
from test_example_lies import LIES as EXAMPLES
from test_foreign import BROKEN as FOREIGN
from test_foreign_examples import LIES as FOREIGN_EXAMPLES

from rekindle.judge import CHECKS, judge

RUNS = Path(__file__).parents[2] / "recordings" / "runs"
SERVER = "job/workspace/pt_ddp/server"
SITE = "job/workspace/pt_ddp/site-2/log.txt"
LLM = "job/workspace/llm_sft"
ONE, TWO = "evidence/site-1.rank-0.jsonl", "evidence/site-2.rank-0.jsonl"
WITNESS, FINAL = "evidence/server.jsonl", "evidence/job.jsonl"


def text(file, old, new, count=0):
    """Return what replaces a text in a file."""
    return lambda run: edit(run / file, old, new, count=count)


def event(file, kind, change, **where):
    """Return what alters the events of a kind with such fields; None drops them."""

    def altered(run):
        def one(told):
            if told["event"] == kind and where.items() <= told.items():
                return change(told) if callable(change) else {**told, **change}
            return told

        events(run / file, one)

    return altered


def gone(file):
    return lambda run: (run / file).unlink()


def added(file, line):
    def append(run):
        with (run / file).open("a") as stream:
            stream.write(f"{line}\n")

    return append


def claims(*proof):
    """Return what has the job claim more."""

    def change(run):
        spec = json.loads((run / "spec.json").read_text())
        spec["job"]["proof"] += proof
        (run / "spec.json").write_text(json.dumps(spec))

    return change


def every_site(change):
    """Return what alters what every rank wrote."""
    return lambda run: [events(path, change) for path in (run / "evidence").glob("site-*.jsonl")]


def same_as_site_1(run):
    """Have both sites have sent one model, as the server saw it."""
    sent = {}
    take = event(WITNESS, "contribution", lambda told: sent.setdefault(told["round"], told), site="site-1")
    take(run)
    fields = ("digest", "sketch", "distance")
    copied = lambda told: told | {name: sent[told["round"]][name] for name in fields}  # noqa: E731
    event(WITNESS, "contribution", copied, site="site-2")(run)


def first_on_another_device(run):
    """Have a rank be started twice, at first on a GPU that was not its own."""
    first = (run / ONE).read_text().splitlines(keepends=True)[0]
    (run / ONE).write_text(first.replace('"uuid": null', '"uuid": "GPU-stolen"') + (run / ONE).read_text())


def cut_before_its_end(run):
    path = run / SERVER / "log.txt"
    path.write_text(path.read_text().partition("Finished FedAvg.")[0])


STAMP = "2026-11-21 08:48:20,250"
BEST = {"claim": "best_model_selected"}
NCCL = {"claim": "site_logs_show", "options": {"backend": "gloo", "text": "algorithm = nccl"}}
EXCEPTION = {"event": "exception", "time": 1795304150.0, "site": "site-2", "rank": 0, "kind": "ValueError"}
EXCEPTION |= {"message": "no", "place": "client.py:9"}
LOSSES = r'"losses": \[[\d.e-]+'
FAILS, UNKNOWN = "fails", "unknown"
PT_DDP = [
    ("rounds_aggregated", FAILS, text(f"{SERVER}/log.txt", r".*Aggregated 2/2 results.*\n", "", 1)),
    (
        "rounds_aggregated",
        FAILS,
        text(f"{SERVER}/log.txt", "Aggregated 2/2 results", "Aggregated 1/1 results", 1),
    ),
    (
        "best_model_selected",
        FAILS,
        claims(BEST),
        text(f"{SERVER}/log.txt", r".* validation metric \S+ from client site-2\n", "", 1),
    ),
    (
        "best_model_selected",
        FAILS,
        claims(BEST),
        text(f"{SERVER}/log.txt", r".*new best validation metric.*\n", ""),
    ),
    ("site_logs_show", FAILS, claims(NCCL)),
    (
        "every_rank_on_its_device",
        UNKNOWN,
        text("evidence/site-2.rank-1.jsonl", r'\A\{"event": "device".*\n', ""),
    ),
    ("every_rank_on_its_device", FAILS, event(ONE, "device", {"uuid": "GPU-stolen"})),
    ("every_rank_on_its_device", FAILS, first_on_another_device),
    ("processes_are_distinct", UNKNOWN, every_site(lambda told: told | {"pid": 4711})),
    ("every_rank_trained", FAILS, event("evidence/site-1.rank-1.jsonl", "round", lambda told: None, round=2)),
    ("every_rank_trained", FAILS, event("evidence/site-1.rank-1.jsonl", "round", lambda told: None)),
    ("every_rank_trained", FAILS, event(TWO, "round", lambda told: told | {"model_out": told["model_in"]})),
    ("every_rank_trained", FAILS, event("evidence/site-2.rank-1.jsonl", "round", {"model_out": "0" * 64})),
    ("every_rank_trained", FAILS, event(TWO, "round", {"samples": 0})),
    ("every_rank_trained", UNKNOWN, gone("evidence/site-1.rank-1.jsonl")),
    ("loss_falls", FAILS, text(ONE, LOSSES, '"losses": [null', 1)),
    ("loss_falls", FAILS, text(ONE, LOSSES, '"losses": [0.0000001', 1)),
    ("loss_falls", UNKNOWN, event(ONE, "round", {"losses": []})),
    ("metrics_in_their_range", FAILS, text("evidence/site-1.rank-1.jsonl", LOSSES, '"losses": [null', 1)),
    ("metrics_in_their_range", UNKNOWN, event(TWO, "round", {"metrics": {"accuracy": 97.0}})),
    (
        "model_changed",
        FAILS,
        event(FINAL, "final", lambda told: told | {"final": told["initial"], "distance": 0.0}),
    ),
    ("model_changed", FAILS, event(ONE, "round", {"model_in": "f00d" * 16}, round=0)),
    ("model_changed", FAILS, event(FINAL, "final", {"distance": None})),
    ("model_changed", UNKNOWN, gone(FINAL)),
    ("metric_reached", FAILS, event(FINAL, "final", {"metrics": {"accuracy": 0.949}})),
    ("metric_reached", UNKNOWN, event(FINAL, "final", {"metrics": {"accuracy": None}})),
    ("server_log_clean", FAILS, added(f"{SERVER}/log_error.txt", "ERROR")),
    (
        "server_log_clean",
        FAILS,
        lambda run: (
            (run / SERVER / "log_error.txt").rename(run / SERVER / "error_log.txt").write_text("ERROR\n")
        ),
    ),
    (
        "server_log_clean",
        FAILS,
        added(f"{SERVER}/log.txt", "Aborting current RUN due to FATAL_SYSTEM_ERROR received"),
    ),
    ("server_log_clean", UNKNOWN, gone(f"{SERVER}/log_error.txt")),
    ("server_log_clean", UNKNOWN, cut_before_its_end),
    ("duration_plausible", UNKNOWN, text("ended.json", r'"duration_s": [\d.]+', '"duration_s": 3.0')),
    ("duration_plausible", UNKNOWN, event(ONE, "round", {"seconds": 60.0})),
    ("duration_plausible", UNKNOWN, event("evidence/site-2.rank-1.jsonl", "round", {"seconds": 60.0})),
    ("duration_plausible", UNKNOWN, every_site(lambda told: told | {"time": told["time"] + 3600})),
    ("duration_plausible", UNKNOWN, event(TWO, "round", lambda told: told | {"time": told["time"] + 1})),
    ("duration_plausible", UNKNOWN, text(f"{SERVER}/log.txt", r"Round 1 started\.", "")),
    ("duration_plausible", UNKNOWN, gone("ended.json")),
    (
        "server_told_every_result",
        UNKNOWN,
        event(WITNESS, "contribution", lambda told: None, site="site-1", round=1),
    ),
    (
        "server_told_every_result",
        UNKNOWN,
        event(WITNESS, "contribution", {"round": 0}, site="site-1", round=1),
    ),
    (
        "results_are_sound",
        FAILS,
        event(WITNESS, "contribution", {"return_code": "EXECUTION_EXCEPTION"}, site="site-1"),
    ),
    (
        "results_are_sound",
        FAILS,
        event(WITNESS, "contribution", {"finite": False, "distance": None}, site="site-1"),
    ),
    ("results_are_sound", FAILS, event(WITNESS, "contribution", {"distance": 0.0}, site="site-1")),
    ("every_site_counts", FAILS, event(WITNESS, "contribution", {"weight": 0.0}, site="site-1")),
    ("results_are_their_own", UNKNOWN, same_as_site_1),
    (
        "global_model_is_the_mean",
        FAILS,
        event(WITNESS, "contribution", lambda told: told | {"weight": told["weight"] * 9}, site="site-1"),
    ),
    ("global_model_is_the_mean", UNKNOWN, event(WITNESS, "global", lambda told: None, round=2)),
    ("trainers_start_from_the_servers_model", FAILS, event(WITNESS, "global", {"digest": "0" * 64}, round=1)),
    ("server_gets_what_trainers_made", FAILS, event(WITNESS, "contribution", {"digest": "0" * 64}, round=1)),
    ("final_model_is_the_servers", FAILS, event(FINAL, "final", {"final": "0" * 64})),
    ("final_model_is_the_servers", FAILS, event(FINAL, "final", {"initial": "0" * 64})),
    ("final_model_is_the_servers", UNKNOWN, event(WITNESS, "global", lambda told: None, round=0)),
    ("logs_are_whole", UNKNOWN, cut_before_its_end),
    ("logs_are_whole", UNKNOWN, gone(SITE)),
    ("logs_are_whole", UNKNOWN, added(SITE, "\0\0")),
    ("no_error_logged", FAILS, added(SITE, f"{STAMP} - ClientRunner - ERROR - it failed")),
    (
        "no_error_logged",
        FAILS,
        added(SITE.replace("log.", "log_error."), f"{STAMP} - ClientRunner - ERROR - it failed"),
    ),
    ("no_error_logged", UNKNOWN, gone(SITE.replace("log.", "log_error."))),
    (
        "trainers_print_no_failure",
        UNKNOWN,
        added(SITE, f"{STAMP} - SubprocessLauncher - INFO - ValueError: no"),
    ),
    ("job_printed_no_error", FAILS, added("job.log", "Traceback (most recent call last):\nValueError: no")),
    ("job_printed_no_error", UNKNOWN, gone("job.log")),
    (
        "results_are_good",
        FAILS,
        added(SITE, f"{STAMP} - Launcher - INFO - launcher completed with status failed"),
    ),
    ("sites_had_the_servers_tasks", UNKNOWN, text(SITE, r".*task result sent to server\n", "", 1)),
    (
        "logs_are_of_their_sites",
        UNKNOWN,
        lambda run: shutil.copytree((run / SITE).parent, (run / SITE).parents[1] / "site-3"),
    ),
    ("logs_are_of_their_sites", UNKNOWN, text(SITE, "for client: site-2", "for client: site-1")),
    ("all_within_the_run", UNKNOWN, event("evidence/site-2.rank-1.jsonl", "device", {"time": 1.0})),
    ("nobody_raised", FAILS, added(TWO, json.dumps(EXCEPTION))),
    ("everything_is_read", UNKNOWN, added(TWO, '{"event": "moon", "time": 1}')),
    ("all_of_this_run", UNKNOWN, event(TWO, "device", {"nonce": "0" * 32})),
    ("everyone_writes_their_own", UNKNOWN, event(TWO, "device", {"site": "site-1"})),
    (
        "sampled_all_along",
        UNKNOWN,
        lambda run: events(run / "samples.jsonl", lambda told: told if told["time"] < 1795304160 else None),
    ),
]
TRACKED = r'\["site-2", "loss", 1,'
LLM_PEFT = [
    ("bytes_exchanged", FAILS, event(TWO, "round", {"bytes_out": 90_000_000})),
    ("bytes_exchanged", UNKNOWN, event(TWO, "round", {"bytes_out": None})),
    ("bytes_exchanged", UNKNOWN, event(FINAL, "final", {"model_bytes": None})),
    (
        "messages_quantised",
        FAILS,
        text(f"{LLM}/site-2/log.txt", r"Quantized (\d+)/\d+ params", r"Quantized 1/\1 params"),
    ),
    (
        "messages_quantised",
        FAILS,
        text(f"{LLM}/site-2/log.txt", r"After quantization: 0\.\d+", "After quantization: 0.90"),
    ),
    ("messages_quantised", FAILS, text(f"{LLM}/server/log.txt", r".*Quantized \d+/\d+ params.*\n", "")),
    ("tracking_read_back", FAILS, text(FINAL, rf"{TRACKED} [\d.]+\]", '["site-2", "loss", 1, 0.5]')),
    ("tracking_read_back", FAILS, text(FINAL, TRACKED, '["site-2", "loss", 7,')),
    ("tracking_read_back", UNKNOWN, text(FINAL, r'.*"tracker": "wandb".*\n', "")),
    ("metric_fell", FAILS, event(FINAL, "final", {"metrics": {"eval_loss": 10.0}})),
    ("metric_fell", UNKNOWN, event(FINAL, "final", {"metrics": {"eval_loss": None}})),
    ("model_changed", FAILS, event(TWO, "round", {"model_in": "0" * 64}, round=0)),
]
TENSOR_STREAM = [
    (
        "tensors_streamed",
        FAILS,
        text(f"{LLM}/server/log.txt", r".*consumed blobs from peer 'site-2'.*\n", ""),
    ),
    (
        "tensors_streamed",
        FAILS,
        text(f"{LLM}/server/log.txt", r"(produced blobs for peer 'site-1' with) \d+", r"\1 0"),
    ),
    ("memory_told", UNKNOWN, text("samples.jsonl", r'"site-2":\d+', '"site-2":0')),
]
BROKEN = [
    *(("pt_ddp", *case) for case in PT_DDP),
    *(("llm_peft", *case) for case in LLM_PEFT),
    *(("tensor_stream", *case) for case in TENSOR_STREAM),
]


@pytest.mark.parametrize(
    ("job", "name", "state", "damage"), [(job, name, state, damage) for job, name, state, *damage in BROKEN]
)
def test_a_broken_run_is_no_pass(tmp_path, job, name, state, damage):
    run = Path(shutil.copytree(RUNS / f"{job}-cpu-2", tmp_path / "run"))
    for change in damage:
        change(run)
    verdict = judge(run)
    assert next(result.state for result in verdict.evidence if result.claim == name) == state
    assert verdict.verdict in ({"FAIL"} if state == FAILS else {"UNPROVEN", "FAIL"})
    assert verdict.cause
    assert verdict.remedy


ELSEWHERE = {
    "test_given_gpus.py": {"given_gpus_worked"},
    "test_gpu_errors.py": {"no_gpu_errors"},
    "test_gpus.py": {"gpus_used"},
    "test_judge_nodes.py": {"ranks_on_their_nodes", "ranks_crossed_the_network"},
    "test_measured.py": {"gpus_accepted"},
    "test_sent.py": {"made_under_its_nonce", "files_are_as_sent"},
    "test_foreign_examples.py": {"flower_results_received"},
    "tests/unit/flare/test_trackers.py": {"tracked"},
    "they report, and hold of any run": {"runs_as_described", "nodes_keep_pace"},
}


def test_every_check_has_a_run_that_breaks_it():
    seen = (
        {name for _, name, *_ in BROKEN}
        | {name for _, name in EXAMPLES.values()}
        | {job.check for job in JOBS}
    )
    seen |= {name for _, name, _ in FOREIGN} | {name for _, _, name, _ in FOREIGN_EXAMPLES}
    assert CHECKS.keys() <= seen | set().union(*ELSEWHERE.values())
