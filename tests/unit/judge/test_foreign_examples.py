# SPDX-License-Identifier: Apache-2.0
"""The judge on runs of NVFlare's own examples that nobody watched: recordings, and what breaks them."""

import math
import shutil
from pathlib import Path

import pytest
from samples.edits import added, json_in, removed, replaced, states_of

from rekindle.judge import judge_run

FOREIGN = Path(__file__).parents[2] / "recordings" / "foreign"
GOOD = {
    "simulator": "FedAvg completed 2 of 2 rounds.",
    "hello-cyclic": "CyclicController had 6 results in 3 rounds.",
    "hello-lr": "FedAvgLR completed 5 of 5 rounds.",
    "hello-tabular-stats": "6 statistics of 6 features of site-1, site-2 and of all.",
    "cross-val": "2 sites each evaluated SRV_server_model_1, SRV_server_model_2.",
    "train-and-cross-val": "FedAvg completed 1 of 1 rounds. CrossSiteModelEval had 8 results.",
    "kaplan-meier": "5 sites have one curve of 102 points, from 1 to 0.",
    "flower": "Flower's 3 rounds each had results of all 2 sites, and train_loss, val_loss moved.",
    "mlflow-at-sites": "FedAvg completed 5 of 5 rounds.",
}
BAD = {
    "one-empty-result": ("FAIL", "site-1 returned a result without parameters, which NVFlare left out."),
    "raises-before-init": ("FAIL", "A process raised ValueError: before at client.py:47."),
    "cyclic-site-fails": ("FAIL", "A process raised ValueError: broken at client.py:73."),
    "cross-val-no-model": ("FAIL", "A file is missing: Unable to load NP Model: FileNotFoundError"),
    "mlflow-at-sites-refused": ("FAIL", "site-1 logged: Receiver initialize failed with The filesystem"),
    "flower-no-data": ("FAIL", "Flower's round 1 had 0 results and 2 failures of 2 sites."),
    "external-trainer-died": ("HUNG", "TypeError: expect 'weight_mean' value to be an instance of float"),
    "waits-for-trainers": ("UNPROVEN", "waits for the task train of site-1, site-2, which runs, was stopped"),
}
CONFIG = "server/simulate_job/app_server/config/config_fed_server.json"


@pytest.fixture
def example(tmp_path):
    """Return a function that copies a recorded workspace by its recording's name."""

    def copied(name):
        (recorded,) = (FOREIGN / name).iterdir()
        return Path(shutil.copytree(recorded, tmp_path / name / recorded.name))

    return copied


@pytest.mark.parametrize("name", GOOD)
def test_a_good_run_is_unproven_with_what_it_shows_and_what_not(name):
    verdict = judge_run(FOREIGN / name)
    assert verdict.verdict == "UNPROVEN"
    assert GOOD[name] in verdict.cause
    assert verdict.cause.startswith("NVFlare's files do not show what each site sent. They show: ")
    assert "fails" not in states_of(verdict).values()


@pytest.mark.parametrize("name", BAD)
def test_a_broken_run_has_its_cause(name):
    verdict = judge_run(FOREIGN / name)
    kind, cause = BAD[name]
    assert verdict.verdict == kind
    assert cause in verdict.cause


def test_every_recording_is_listed_here():
    assert {path.name for path in FOREIGN.iterdir()} == {*GOOD, *BAD, "simulator-crash", "poc"}


def _log(*arguments, **options):
    return replaced("server/log.txt", *arguments, **options)


def _json(file, change):
    def changed(run):
        (path,) = run.glob(file)
        with json_in(path) as content:
            change(content)

    return changed


def _results(change):
    return _json("server/simulate_job/cross_site_val/cross_val_results.json", change)


def _flat(content):
    content.update(dict.fromkeys(content, 1))


def _metric(value):
    return _results(lambda content: content["site-2"]["SRV_server_model_1"].update(accuracy=value))


def _statistics(change):
    return _json("server/simulate_job/statistics/adults_stats.json", change)


def _age(statistic, change):
    return _statistics(lambda content: change(content["Age"][statistic]))


def _no_means(content):
    for statistics in content.values():
        del statistics["mean"]


def _curve(site, change):
    return _json(f"{site}/simulate_job/km_global.json", change)


def _all_curves(change):
    def changed(run):
        for site in range(1, 6):
            _curve(f"site-{site}", change)(run)

    return changed


def _estimate(change):
    return lambda content: change(content["km_estimate"])


def _below_zero(content):
    content.update(km_estimate=[1.0, -0.5], timeline=[0, 1])


def _settings(**more):
    return _json(CONFIG, lambda content: content["workflows"][0]["args"].update(more))


def _another_class(path):
    return _json(CONFIG, lambda content: content["workflows"][0].update(path=path))


_DEFAULTS = _json(CONFIG, lambda content: content["workflows"][0]["args"].clear())
_THIRD = _json(
    "server/simulate_job/meta.json", lambda content: content["job_clients"].append({"name": "site-3"})
)
_NAN = "2026-11-22 10:50:00,000 - Learner - INFO - weights: [[nan nan nan]\n [nan nan nan]]"
_SENT = "2026-11-22 10:50:00,000 - TaskScriptRunner - INFO - Sending weights: [[1. 2. 3.]\n [4. 5. 6.]]\n"
_OTHER = _SENT.replace("1.", "2.")
_ERROR = "2026-11-22 10:00:00,000 - MLflowReceiver - ERROR - no"
_ABORTED = ("peer_rc=OK", "peer_rc=TASK_ABORTED")


def _flower_loss(value):
    """Return what gives all rounds of Flower one validation loss, as a learning rate of 0 does."""
    log = "server/simulate_job/superlink_log.txt"
    return replaced(log, r"\((\d), 275\.\d+\)", rf"(\1, {value})")


LIES = [
    ("hello-cyclic", _THIRD, "every_site_took_part", "fails"),
    ("hello-cyclic", _log(*_ABORTED), "every_site_took_part", "fails"),
    ("hello-cyclic", _log(r".*got result from client site-2.*\n", count=1), "every_site_took_part", "fails"),
    ("hello-cyclic", _log(r".*(assigned task|got result).*\n"), "every_site_took_part", "fails"),
    ("hello-cyclic", _log(r".*got result from client site-2.*\n", count=1), "rounds_completed", "fails"),
    ("hello-cyclic", _settings(num_rounds=4), "rounds_completed", "fails"),
    ("hello-cyclic", _DEFAULTS, "rounds_completed", "fails"),
    ("hello-cyclic", _settings(num_rounds=4, allow_early_termination=True), "rounds_completed", "unknown"),
    ("hello-cyclic", _another_class("own.Ring"), "rounds_completed", "unknown"),
    ("hello-cyclic", _another_class("own.Ring"), "every_site_took_part", "holds"),
    ("hello-cyclic", _log(r"Server runner finished"), "came_to_its_end", "unknown"),
    ("hello-cyclic", _log(r"Server runner finished"), "rounds_completed", "holds"),
    ("hello-lr", _settings(num_rounds=6), "rounds_completed", "fails"),
    ("hello-lr", _log(r".*Newton-Raphson updates.*\n", count=1), "rounds_completed", "fails"),
    ("hello-lr", _settings(num_rounds=6), "every_site_took_part", "fails"),
    ("hello-lr", _settings(num_clients=1, num_rounds=6), "every_site_took_part", "unknown"),
    ("train-and-cross-val", _log(r"Finished FedAvg"), "rounds_completed", "fails"),
    ("train-and-cross-val", _log(r".*got result from client site-1 for .*name=validate.*\n"), None, "fails"),
    ("train-and-cross-val", _results(lambda content: content["site-1"].pop("site-2")), None, "fails"),
    ("cross-val", _results(dict.clear), "cross_validation_complete", "fails"),
    ("cross-val", _results(lambda content: content.pop("site-2")), "cross_validation_complete", "fails"),
    ("cross-val", _results(_flat), "cross_validation_complete", "fails"),
    ("cross-val", _metric(math.nan), None, "fails"),
    ("cross-val", _metric(10**400), None, "fails"),
    ("cross-val", _metric("b"), None, "fails"),
    ("cross-val", added("server/log_error.txt", _ERROR), "no_error_logged", "fails"),
    ("hello-tabular-stats", _statistics(dict.clear), "statistics_complete", "fails"),
    ("hello-tabular-stats", _age("mean", lambda mean: mean.pop("site-2")), "statistics_complete", "fails"),
    ("hello-tabular-stats", _age("mean", lambda mean: mean.pop("Global")), "statistics_complete", "fails"),
    ("hello-tabular-stats", _age("mean", lambda mean: mean["site-2"].update(train=math.inf)), None, "fails"),
    ("hello-tabular-stats", _age("count", lambda count: count["Global"].update(train=1)), None, "fails"),
    ("hello-tabular-stats", _age("sum", lambda sums: sums["site-2"].update(train=1.5)), None, "fails"),
    ("hello-tabular-stats", _statistics(_no_means), "statistics_complete", "fails"),
    ("hello-tabular-stats", _log(r"control flow end"), "rounds_completed", "fails"),
    ("kaplan-meier", _curve("site-3", _estimate(list.pop)), "survival_curves_fall", "fails"),
    ("kaplan-meier", _all_curves(_estimate(list.reverse)), "survival_curves_fall", "fails"),
    ("kaplan-meier", _all_curves(_estimate(list.clear)), "survival_curves_fall", "fails"),
    ("kaplan-meier", _all_curves(_below_zero), None, "fails"),
    ("kaplan-meier", removed("site-4/simulate_job/km_global.json"), "survival_curves_fall", "fails"),
    ("kaplan-meier", _another_class("server_he.KM_HE"), "every_site_took_part", "fails"),
    ("kaplan-meier", _another_class("server_he.KM_HE"), "rounds_completed", "fails"),
    ("flower", _flower_loss("nan"), "flower_results_received", "fails"),
    ("flower", _flower_loss("275.88742220401764"), "flower_results_received", "unknown"),
    ("flower", _log(r".*got result from client site-2.*name=start.*\n"), "every_site_took_part", "fails"),
    ("mlflow-at-sites", added("site-2/log.txt", _NAN), "printed_models_are_trained", "fails"),
    ("mlflow-at-sites", added("site-2/log.txt", 3 * _SENT), "printed_models_are_trained", "fails"),
    ("mlflow-at-sites", added("site-2/log.txt", _SENT), "printed_models_are_trained", "holds"),
    ("mlflow-at-sites", added("site-2/log.txt", _SENT + _OTHER), "printed_models_are_trained", "holds"),
]


@pytest.mark.parametrize(("name", "damage", "claim", "state"), LIES)
def test_what_breaks_a_run_breaks_a_claim(example, name, damage, claim, state):
    run = example(name)
    damage(run)
    verdict = judge_run(run)
    states = states_of(verdict)
    assert states[claim] == state if claim else "fails" in states.values()
    if state == "fails":
        assert verdict.verdict == "FAIL"


def test_a_trainer_that_still_prints_is_not_hung(example):
    run = example("external-trainer-died")
    for site in ("site-1", "site-2"):
        added(f"{site}/log.txt", "2026-11-22 10:50:00,000 - SubprocessLauncher - INFO - goes on")(run)
    assert judge_run(run).verdict == "UNPROVEN"


def test_harmless_errors_of_default_cross_validation_are_no_failure(example):
    run = example("cross-val")
    assert (run / "server/log_error.txt").stat().st_size > 0
    assert states_of(judge_run(run))["no_error_logged"] == "holds"


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"workflows": 3, "job_clients": [1, {"name": []}]}', "\0"]
)
def test_a_file_of_another_shape_is_no_traceback(example, name, content):
    run = example(name)
    for path in [*run.rglob("*.json"), *run.rglob("superlink_log.txt")]:
        path.write_text(content)
    assert judge_run(run).verdict in {"UNPROVEN", "FAIL"}


def test_a_site_that_missed_its_turn_is_said_to_have_asked_too_late(example):
    run = example("hello-cyclic")
    for what in ("assigned task to", "got result from"):
        _log(rf".*{what} client site-2.*\n", count=1)(run)
    (found,) = [result for result in judge_run(run).evidence if result.claim == "every_site_took_part"]
    assert "passes over a site that does not ask for its turn within 10 s" in found.message
