# SPDX-License-Identifier: Apache-2.0
"""A workflow of a user's own is judged by what the server had of its sites."""

import shutil

import pytest
from samples.edits import events, json_in, replaced, result_of

from rekindle.judge import judge_run

SERVER = "job/workspace/hello-numpy/server/simulate_job"
METRICS, NOTHING = {"kind": "METRICS"}, {"kind": "", "bytes": 0, "values": 0}


@pytest.fixture
def run(recordings, tmp_path):
    """Return a recorded run with sketches of its models, whose workflow has a class that nobody knows."""
    folder = shutil.copytree(recordings / "examples" / "hello-numpy", tmp_path / "run")
    config = f"{SERVER}/app_server/config/config_fed_server.json"
    replaced(config, r"nvflare\.app_common\.workflows\.fedavg\.FedAvg", "own.Own")(folder)
    events(folder / "evidence/server.jsonl", lambda event: {**event, "sketch": [event["time"]]})
    return folder


def test_its_rounds_are_those_in_which_every_site_sent_a_model(run):
    result = result_of(judge_run(run), "rounds_completed")
    assert result.state == "holds"
    assert "A model of every site was received in 3 rounds of Own." in result.message


def test_a_round_without_a_sites_model_is_unknown(run):
    replaced("evidence/server.jsonl", r'("site": "site-2", "task": )"train"', r'\1"other"')(run)
    assert result_of(judge_run(run), "rounds_completed").state == "unknown"


def test_sites_that_are_not_known_are_unknown(run):
    for meta in run.rglob("meta.json"):
        meta.unlink()
    assert result_of(judge_run(run), "rounds_completed").state == "unknown"


def of_rounds(sites):
    """Return what keeps the training results of these sites in each round; others have another task."""

    def change(event):
        kept = event["event"] != "task" or event["site"] in sites[event["round"]]
        return event if kept else {**event, "task": "other"}

    return lambda folder: events(folder / "evidence/server.jsonl", change)


@pytest.mark.parametrize(
    ("sites", "state"),
    [
        ([["site-1"], ["site-2"], ["site-1"]], "holds"),
        ([["site-1", "site-2"], ["site-1"], ["site-2"]], "holds"),
        ([["site-1", "site-2"], ["site-1"], ["site-1"]], "unknown"),
        ([["site-1", "site-2"], ["site-1"], []], "unknown"),
    ],
    ids=["as many in each round", "each as it answers", "fewer after the first", "none in the last"],
)
def test_it_may_choose_its_sites_for_each_round(run, sites, state):
    of_rounds(sites)(run)
    result = result_of(judge_run(run), "rounds_completed")
    assert result.state == state
    assert ("chose its sites for each of 3 rounds, and all answered" in result.message) == (state == "holds")


@pytest.mark.parametrize(("tasks", "state"), [('"ready"', "holds"), ('"train", "ready"', "unknown")])
def test_a_site_that_has_no_executor_for_a_rounds_task_has_another_part(run, tasks, state):
    of_rounds([["site-1"]] * 3)(run)
    replaced(
        f"{SERVER.replace('server', 'site-2')}/app_site-2/config/config_fed_client.json", r'"\*"', tasks
    )(run)
    result = result_of(judge_run(run), "rounds_completed")
    assert result.state == state
    assert ("A model of every site that has train was received in 3 rounds" in result.message) == (
        state == "holds"
    )


def test_rounds_that_nothing_says_are_as_many_as_there_were(run):
    replaced("spec.json", '"rounds": 3', '"rounds": 2, "assumed": ["rounds"]')(run)
    config = f"{SERVER}/app_server/config/config_fed_server.json"
    replaced(config, r',\s*"num_rounds": \d+', "")(run)
    message = result_of(judge_run(run), "rounds_completed").message
    assert "in 3 rounds of Own; nothing says how many it should have." in message


def test_a_workspace_that_was_found_has_no_job_file_to_change(run):
    replaced(f"{SERVER}/app_server/config/config_fed_server.json", r',\s*"num_rounds": \d+', "")(run)
    result = result_of(judge_run(run / "job/workspace/hello-numpy"), "rounds_completed")
    assert (result.state, result.message) == ("unknown", "Own announces no rounds.")


def test_results_without_floating_point_numbers_are_counted_too(run):
    events(run / "evidence/server.jsonl", lambda event: {**event, "sketch": []})
    assert "was received in 3 rounds of Own." in result_of(judge_run(run), "rounds_completed").message


@pytest.mark.parametrize(("result", "told"), [(METRICS, True), (NOTHING, True), ({}, False)])
def test_results_without_a_model_are_no_training(run, result, told):
    events(
        run / "evidence/server.jsonl",
        lambda event: {**event, **result, "task": "own"} if event["event"] == "task" else event,
    )
    result = result_of(judge_run(run), "every_site_trained")
    assert result.state == ("unknown" if told else "holds")
    assert ("leave every_site_trained out of job.yml's proof" in result.message) == told


def test_a_console_that_shows_lines_of_sites_alone_owes_none_of_the_servers(run):
    lines = (run / SERVER).parents[1].joinpath("site-1/log.txt").read_text().splitlines()
    (run / "job.log").write_text("\n".join(lines[:4]))
    assert result_of(judge_run(run), "logs_are_whole").state == "holds"
    (run / "job.log").write_text("\n".join([*lines[:4], lines[4].replace("INFO", "ERROR") + "!"]))
    assert result_of(judge_run(run), "logs_are_whole").state == "unknown"


@pytest.mark.parametrize(("shown", "state"), [(False, "holds"), (True, "unknown")])
def test_a_console_may_have_nothing_to_show_of_a_users_own_classes(run, shown, state):
    (run / "job.log").write_text("")
    if shown:
        (run / SERVER).with_name("log_fl.txt").write_text("a line\n")
    assert result_of(judge_run(run), "job_printed_no_error").state == state
    (run / "job.log").unlink()
    assert result_of(judge_run(run), "job_printed_no_error").state == "unknown"


def test_a_console_shows_what_nvflares_own_workflow_logs(example):
    (example / "job.log").write_text("")
    assert result_of(judge_run(example), "job_printed_no_error").state == "unknown"


@pytest.mark.parametrize(("sites", "state"), [(["site-2"], "unknown"), (["site-1", "site-2"], "holds")])
def test_a_site_that_leaves_arrays_alone_which_the_others_train_is_seen(run, sites, state):
    events(
        run / "evidence/server.jsonl",
        lambda event: {**event, "still": 8 * (event["event"] == "task" and event["site"] in sites)},
    )
    result = result_of(judge_run(run), "every_site_trained")
    assert result.state == state
    assert result.message.startswith("site-2 sent 8 of ") == (state == "unknown")


@pytest.mark.parametrize(("share", "state"), [(0.005, "unknown"), (0.05, "holds"), (None, "holds")])
def test_a_site_that_moves_next_to_nothing_beside_the_others_is_seen(run, share, state):
    trained = {"site-1": 1.0, "site-2": share}
    events(
        run / "evidence/server.jsonl",
        lambda event: {**event, "trained": trained[event["site"]]} if event["event"] == "task" else event,
    )
    assert result_of(judge_run(run), "every_site_trained").state == state


@pytest.mark.parametrize(("of", "state"), [("run", "holds"), ("example", "fails")])
def test_an_own_workflow_may_end_before_a_last_answer(request, of, state):
    folder = request.getfixturevalue(of)
    log = folder / SERVER.rpartition("/")[0] / "log.txt"
    lines = log.read_text().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if "got result from client site-2" in line)
    log.write_text("".join(lines[:last] + lines[last + 1 :]))
    result = result_of(judge_run(folder), "every_site_took_part")
    assert result.state == state
    assert ("site-2 was given the task train and never answered." in result.message) == (of == "example")


def ends_early(folder, metrics, code="", moved=(9, 8, 7), **arguments):
    """Have 9 rounds announced where 3 were, of which sites report these metrics, and moved so far."""
    replaced("spec.json", '"rounds": 3', '"rounds": 9')(folder)
    with json_in(folder / f"{SERVER}/app_server/config/config_fed_server.json") as content:
        content["workflows"][0]["args"] |= {"num_rounds": 9, **arguments}
    (folder / f"{SERVER}/app_server/custom").mkdir(exist_ok=True)
    (folder / f"{SERVER}/app_server/custom/own.py").write_text(f"class Own(ModelController):\n    {code}\n")
    reported = [{name: values[number] for name, values in metrics.items()} for number in range(3)]

    def report(event):
        of = event["round"] if event["event"] == "task" else None
        return event if of is None else {**event, "metrics": reported[of], "moved": moved[of]}

    events(folder / "evidence/server.jsonl", report)
    return result_of(judge_run(folder), "rounds_completed")


@pytest.mark.parametrize(("models", "state"), [(6, "holds"), (3, "unknown")])
def test_rounds_without_numbers_are_as_many_as_models_that_were_sent(run, models, state):
    replaced("spec.json", '"rounds": 3', '"rounds": 6')(run)
    replaced(f"{SERVER}/app_server/config/config_fed_server.json", '"num_rounds": 3', '"num_rounds": 6')(run)
    turns = {"site-1": 0, "site-2": 1}

    def relay(event):
        if event["event"] != "task":
            return event
        number = 2 * event["round"] + turns[event["site"]]
        return {**event, "round": None, "sent": [float(number % models)], "metrics": {}}

    events(run / "evidence/server.jsonl", relay)
    result = result_of(judge_run(run), "rounds_completed")
    assert result.state == state
    assert ("chose its sites for each of 6 rounds" in result.message) == (state == "holds")


RISES, FALLS = (0.3, 0.5, 0.65), (2.0, 1.5, 1.1)


@pytest.mark.parametrize(
    ("metrics", "code", "arguments", "why"),
    [
        ({"accuracy": (0.3, 0.7, 0.71)}, "", {}, "as accuracy no longer got better (0.3 to 0.71)"),
        ({"accuracy": (0.7, 0.6, 0.5)}, "", {}, "as accuracy no longer got better (0.7 to 0.5)"),
        ({"val_loss": (1.0, 1.1, 1.3)}, "", {}, "as val_loss no longer got better (1 to 1.3)"),
        ({"loss": FALLS, "auc": (0.5, 0.9, 0.9)}, "", {}, "as auc no longer got better (0.5 to 0.9)"),
        ({"accuracy": RISES}, "", {"target": 0.6}, "as accuracy came to 0.65, and 0.6 is its figure"),
        ({"accuracy": RISES}, "target = .6", {}, "as accuracy came to 0.65, and 0.6 is its figure"),
        ({"loss": FALLS}, "", {"moved": (9, 5, 1)}, "as sites hardly changed the model any more (9 to 1)"),
        ({"loss": FALLS}, "limit = 1.2", {}, "as loss came to 1.1, and 1.2 is its figure"),
    ],
)
def test_an_early_end_that_the_sites_figures_show_holds(run, metrics, code, arguments, why):
    result = ends_early(run, metrics, code, **arguments)
    assert (result.state, result.message) == (
        "holds",
        f"Own ended by itself after 3 of at most 9 rounds, {why}.",
    )


@pytest.mark.parametrize(
    ("metrics", "code", "why"),
    [
        ({"accuracy": RISES}, "patience = 2", "while accuracy still got better (0.3 to 0.65)."),
        ({"accuracy": RISES}, "target = 0.4", "while accuracy still got better (0.3 to 0.65)."),
        ({"accuracy": RISES}, "target = 0.9", "while accuracy still got better (0.3 to 0.65)."),
        ({"train_loss": FALLS}, "", "while train_loss still got better (2 to 1.1)."),
        ({}, "", "and no site reported a metric of more than one round."),
    ],
)
def test_one_while_all_still_gets_better_or_nothing_is_reported_is_unknown(run, metrics, code, why):
    result = ends_early(run, metrics, code)
    assert result.state == "unknown"
    assert result.message.startswith(f"Own ended by itself after 3 of at most 9 rounds, {why} A stop by the")
