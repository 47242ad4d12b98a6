# SPDX-License-Identifier: Apache-2.0
"""A recorded run of an example, which is no PASS once it is altered."""

import json

import pytest
from samples.edits import (
    each_event,
    events,
    json_in,
    lines_in,
    put_lines,
    removed,
    replaced,
    result_of,
)

from rekindle.judge import judge_run
from rekindle.records import RecordError

SERVER = "evidence/server.jsonl"
SAVED = "evidence/job.jsonl"
WORKSPACE = "job/workspace/hello-numpy"
FIRST_TASK = 1795359517.5
"""Seconds since the epoch, when the server gave it."""
MODEL = f"{WORKSPACE}/server/simulate_job/models/server.npy"


def of_events(file, kind, change, only=lambda event: True):
    """Return what alters the events of a kind in a file, and drops those of which it makes None."""
    one = lambda event: change(event) if event["event"] == kind and only(event) else event  # noqa: E731
    return lambda folder: events(folder / file, one)


def of_results(change, only=lambda event: True):
    """Return what alters the results that the server's component recorded."""
    return of_events(SERVER, "task", change, only)


def one_result(**changes):
    """Return what alters the result of one site in one round."""
    one = lambda event: (event["site"], event["round"]) == ("site-2", 1)  # noqa: E731
    return of_results(lambda event: {**event, **changes}, one)


def used(*right, by="reads"):
    """Return what has site-2 record uses of models at a line of its code, each right or not."""

    def change(folder):
        nonce = lines_in(folder / SERVER)[0]["nonce"]
        time = lines_in(folder / SERVER)[-1]["time"]
        event = {"event": "use", "time": time, "nonce": nonce, "site": "site-2", "place": "client.py:14"}
        event["by"] = by
        put_lines(folder / "evidence/site-2.server.jsonl", [{**event, "right": each} for each in right])
        of_results(lambda event: {**event, "sketch": [event["time"]], "sent": [0.5]})(folder)

    return change


def misused(by, **fields):
    """Return what has a site record such a misuse, and results of these fields."""

    def change(folder):
        used(False, by=by)(folder)
        of_results(lambda event: {**event, **fields})(folder)

    return change


def grows(trained, relative, sent=3.0):
    """Return what has every site move so much further in each round, and the models grow, unsaid."""

    def change(event):
        moved = {"sketch": [event["time"]], "trained": trained ** event["round"], "relative": relative}
        return {**event, **moved, "sent": [sent ** event["round"]], "metrics": {}}

    return of_results(change)


def swings(folder):
    """Make each round's model what the one before was not."""
    of_results(
        lambda event: {**event, "sent": [event["round"] % 2 + 0.1], "sketch": [1.1 - event["round"] % 2]}
    )(folder)
    of_events(SERVER, "global", lambda event: {**event, "sketch": [event["round"] % 2 + 0.1]})(folder)


def reports(**metrics):
    """Return what has every site report these metrics in each round."""
    return of_results(lambda event: {**event, "metrics": metrics})


def of_model(**changes):
    """Return what alters the record of the saved model as it was loaded."""
    return of_events(SAVED, "model", lambda event: {**event, **changes})


def without_lines(member, text, after=0.0):
    """Return what drops the lines with ``text`` of a member's log, from a share of them on."""

    def altered(folder):
        path = folder / WORKSPACE / member / "log.txt"
        lines = path.read_text().splitlines(keepends=True)
        first = int(after * len(lines))
        kept = [line for number, line in enumerate(lines) if number < first or text not in line]
        assert kept != lines
        path.write_text("".join(kept))

    return altered


def again(folder):
    """Record the last result twice."""
    lines = (folder / SERVER).read_text().splitlines()
    (folder / SERVER).write_text("\n".join([*lines, lines[-1]]) + "\n")


def of_samples(change):
    """Return what alters the processes of each sample, by its time."""
    return each_event("samples.jsonl", lambda sample: change(sample["worked"], sample["time"]))


def idle(site):
    """Return what has a site use no more CPU time from before its first task on."""
    taken = []

    def change(worked, time):
        if site in worked:
            if time < FIRST_TASK:
                taken[:] = [worked[site]["nvflare_s"]]
            worked[site]["nvflare_s"] = taken[0]

    return of_samples(change)


def never_worked(worked, time):
    if "site-1" in worked:
        worked["site-1"]["nvflare_s"] = 0.0


def launched(site_trains):
    """Return what has site-1 launch trainers, which use so much CPU time a second."""

    def altered(folder):
        for config in (folder / WORKSPACE / "site-1").rglob("config_fed_client.json"):
            with json_in(config) as content:
                content["components"].append({"id": "launcher", "path": "x.SubprocessLauncher", "args": {}})

        def change(worked, time):
            if "site-1" in worked and site_trains is not None:
                worked["site-1"]["others_s"] = 1.0 + site_trains * max(0.0, time - FIRST_TASK)

        of_samples(change)(folder)

    return altered


def cut_model(folder):
    """Take the last bytes of the server's model."""
    (folder / MODEL).write_bytes((folder / MODEL).read_bytes()[:-8])


def initial_model(folder):
    """Have the server begin with what it saved."""
    saved = json.loads((folder / SAVED).read_text())
    of_events(SERVER, "model", lambda event: {**event, "digest": saved["digest"]})(folder)


def never_asked_to_end(folder):
    """Drop both lines of a site's log on its end."""
    for text in ("asked to end the run", "request from Server to end current RUN"):
        without_lines("site-1", text)(folder)


LIES = {
    "every_site_worked": {
        "a site used no CPU time for its tasks": idle("site-1"),
        "a site never used any": of_samples(never_worked),
        "a site was never seen": of_samples(lambda worked, time: worked.pop("site-2", 0)),
        "samples have no processes": of_samples(lambda worked, time: worked.clear()),
        "a site's trainers used no CPU time": launched(0.0),
        "a site's trainers were never seen": launched(None),
    },
    "every_site_trained": {
        "a site sent back what it was sent": one_result(moved=0.0),
        "a site sent zeros": one_result(norm=0.0),
        "a site sent nothing": one_result(values=0, bytes=0, norm=None, finite=None),
        "a result was compared with nothing": one_result(moved=None),
        "a site computed gradients that nothing applied": misused("idles", kept=0.9),
        "a site stepped an optimizer that had no gradient": misused("vain", still=1),
        "a site's learning rate was 0 for most of its model": misused("rates"),
        "a site sent trees": one_result(values=0, norm=None, finite=None, moved=None),
        "no result is of training": of_results(lambda event: {**event, "task": "validate"}),
    },
    "results_come_from_the_global_model": {
        "a site began anew in each round, and trained": of_results(
            lambda event: {**event, "sketch": [event["time"]], "values": 5000, "kept": 0.1, "relative": 1.0},
            lambda event: event["site"] == "site-2",
        ),
        "a site loaded a state of which its model took nothing": used(False),
    },
    "global_model_is_the_mean": {
        "a site sent its change as the model": used(False, by="changes"),
        "sites sent their changes as models": swings,
    },
    "loss_falls": {
        "every loss rises in every round": of_results(
            lambda event: {**event, "metrics": {"loss": 1.0 + event["round"]}}
        ),
        "every error rises in every round, and no loss is reported": of_results(
            lambda event: {**event, "metrics": {"val_mse": 1.0 + event["round"]}}
        ),
        "every loss is far above the first from then on": of_results(
            lambda event: {**event, "metrics": {"loss": (0.3, 3.0, 0.7)[event["round"]]}}
        ),
        "every loss was once beyond measure": of_results(
            lambda event: {**event, "metrics": {"loss": (1.3, 9e4, 1.3)[event["round"]]}}
        ),
        "a loss is always the same": of_results(lambda event: {**event, "metrics": {"val_loss": 0.5}}),
        "changes grow in every round, and no loss falls": of_results(
            lambda event: {
                **event,
                "sketch": [event["time"]],
                "trained": 2.0 ** event["round"],
                "metrics": {"loss": 1.0 + event["round"] % 2},
            }
        ),
        "a score is always the same at every site": reports(val_accuracy=0.93),
        "every score falls in every round": of_results(
            lambda event: {**event, "metrics": {"accuracy": 0.9 - 0.2 * event["round"]}}
        ),
        "each training doubles the model, and nothing is reported": grows(3.0, 2.5),
    },
    "server_recorded_every_result": {
        "no result is recorded": of_results(lambda event: None),
        "a result is recorded twice": again,
        "a result is of a stranger": one_result(site="site-9"),
        "a site's result is not in the log": without_lines("server", "got result from client site-2"),
    },
    "all_within_the_run": {
        "a result is of a round that had not begun": of_results(
            lambda event: {**event, "round": event["round"] + 1}
        ),
        "a result is of another day": one_result(time=FIRST_TASK - 86400),
    },
    "global_model_saved": {"the model is missing": removed(MODEL)},
    "saved_models_load": {
        "the model was not loaded": of_events(SAVED, "model", lambda event: None),
        "the model is cut": cut_model,
        "the model does not load": of_model(error="ValueError: no", values=0, norm=None, digest=None),
        "the model is not finite": of_model(infinite=1, norm=None),
        "the model is zeros": of_model(norm=0.0),
        "the model has no weights": of_model(values=0, norm=None, digest=None),
        "the model is the first one": initial_model,
    },
    "rounds_completed": {
        "it was asked for more rounds": replaced("spec.json", '"rounds": 3', '"rounds": 4'),
    },
    "sites_had_the_servers_tasks": {
        "a site had no task": without_lines("server", "assigned task to client site-2"),
        "a site's log lacks a task": without_lines("site-2", "got task assignment", 0.6),
        "a site was not asked to end": never_asked_to_end,
    },
}
CASES = [(check, lie) for check, lies in LIES.items() for lie in lies]


def test_it_passes_as_it_was_recorded(example):
    verdict = judge_run(example)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    assert len(verdict.rounds) == 6
    assert result_of(verdict, "saved_models_load").state == "holds"


def test_a_result_whose_weights_have_no_sketch_is_no_good_one(example):
    of_results(lambda event: {**event, "names": "1" * 64, "sketch": []})(example)
    rule = result_of(judge_run(example), "results_are_good")
    assert (rule.state, "no sketch" in rule.message) == ("unknown", True)


def test_sketches_of_unlike_lengths_are_no_pass_and_no_traceback(example):
    one_result(kind="WEIGHT_DIFF", sketch=[1.0, 2.0, 3.0], sent=[1.0, 2.0])(example)
    assert judge_run(example).verdict != "PASS"


def test_a_gradient_that_is_sent_itself_is_no_lie(example):
    misused("idles", kept=0.1)(example)
    assert not [result for result in judge_run(example).evidence if "computes gradients" in result.message]


def test_an_optimizer_without_gradients_is_no_lie_where_all_arrays_were_trained(example):
    misused("vain")(example)
    assert not [result for result in judge_run(example).evidence if "no gradient" in result.message]


@pytest.mark.parametrize(("check", "lie"), CASES)
def test_a_lie_is_no_pass(example, check, lie):
    LIES[check][lie](example)
    verdict = judge_run(example)
    assert verdict.verdict != "PASS"
    assert check in {result.claim for result in verdict.evidence if result.state != "holds"}


def test_a_site_that_never_trained_is_a_fail_beside_one_that_did_so_at_times(example):
    idle = of_results(
        lambda event: {**event, "trained": 0.0},
        lambda event: event["site"] == "site-2" or event["round"] == 1,
    )
    idle(example)
    verdict = judge_run(example)
    assert verdict.verdict == "FAIL"
    assert verdict.cause.startswith("site-2 did not train: ")


@pytest.mark.parametrize(
    "change",
    [
        reports(accuracy=1.0),
        reports(batches=12),
        reports(lr=0.3, accumulated=4.0),
        grows(1.0, 2.5),
        grows(3.0, 1.1),
        grows(3.0, 2.5, sent=1.0),
    ],
    ids=[
        *("the best accuracy", "a count", "settings", "large but steady steps"),
        *("growing steps, small growth", "results that are products of a model that does not grow"),
    ],
)
def test_what_says_nothing_of_learning_is_no_divergence(example, change):
    change(example)
    assert result_of(judge_run(example), "loss_falls").state in {"holds", "not applicable"}


def test_a_line_of_which_a_later_load_takes_something_is_right(example):
    used(False, True)(example)
    assert result_of(judge_run(example), "results_come_from_the_global_model").state == "holds"


def test_a_load_that_another_site_recorded_is_not_its_own(example):
    used(False, True)(example)
    path = example / "evidence/site-2.server.jsonl"
    path.rename(path.with_name("site-1.server.jsonl"))
    assert result_of(judge_run(example), "everyone_writes_their_own").state == "unknown"


def test_a_score_that_falls_at_one_site_alone_is_no_divergence(example):
    figures = {"site-1": (0.9, 0.7, 0.5), "site-2": (0.3, 0.5, 0.6)}
    of_results(lambda event: {**event, "metrics": {"f1": figures[event["site"]][event["round"]]}})(example)
    assert result_of(judge_run(example), "loss_falls").state == "holds"


def test_a_loss_that_is_high_again_at_one_site_alone_is_no_divergence(example):
    figures = {"site-1": (0.01, 2.0, 1.0), "site-2": (0.3, 0.5, 0.2)}
    of_results(lambda event: {**event, "metrics": {"loss": figures[event["site"]][event["round"]]}})(example)
    assert result_of(judge_run(example), "loss_falls").state == "holds"


def test_a_failed_job_py_is_no_pass_and_a_spec_without_an_example_is_refused(example):
    replaced("ended.json", '"exit_status": 0', '"exit_status": 1')(example)
    assert judge_run(example).verdict == "FAIL"
    replaced("spec.json", '"example"', '"code"')(example)
    with pytest.raises(RecordError):
        judge_run(example)


@pytest.mark.parametrize(("code", "kind"), [("-15", "PASS"), ("1", "FAIL")])
def test_the_console_repeats_what_is_harmless_in_a_log_in_colours_too(example, code, kind):
    with (example / "job.log").open("a") as stream:
        stream.write(f"\x1b[31m2026-11-22 11:36:20,000 - ERROR - App stopped with RC {code}\x1b[0m\n")
    assert judge_run(example).verdict == kind


@pytest.mark.parametrize(("message", "kind"), [("with multi GPU", "PASS"), ("late", "UNPROVEN")])
def test_a_simulator_with_gpus_logs_them_first(example, message, kind):
    path = example / WORKSPACE / "server" / "log.txt"
    log = path.read_text()
    first = f"When running {message}, each GPU group will run with only 1 thread. Set the Threads to 1."
    path.write_text(f"{log[:23]} - SimulatorRunner - INFO - {first}\n{log}")
    assert judge_run(example).verdict == kind


def test_the_cpu_time_of_each_site_is_reported(example):
    span = "CPU time from the first task to the last result: "
    ours = "site-1 0.09 s in NVFlare's client"
    message = f"{span}site-2 0.09 s in NVFlare's client; {ours}."
    assert result_of(judge_run(example), "every_site_worked").message == message
    launched(2.0)(example)
    result = result_of(judge_run(example), "every_site_worked")
    assert result.state == "holds"
    assert result.message.endswith(f"; {ours} and 11.63 s in what that launched.")


def test_so_short_a_time_that_the_kernel_counts_none_is_no_failure(example):
    """Of a site that had its only task and its result between two samples."""
    of_samples(lambda worked, time: worked.clear() if time < FIRST_TASK + 4 else None)(example)
    assert judge_run(example).verdict == "PASS"
