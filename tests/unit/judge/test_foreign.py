# SPDX-License-Identifier: Apache-2.0
"""The judge on runs that Rekindle did not start: workspaces as NVFlare 2.7.3 left them."""

import shutil
import zipfile
from pathlib import Path

import pytest
from samples.edits import added, removed, replaced, result_of, states_of

from rekindle.judge import judge_run
from rekindle.records import RecordError

JOB = "02fdf2a9-62c2-4939-8f3f-e75bd8c20bc8"
PROVISION = "example_project/prod_00"


@pytest.fixture
def foreign(tmp_path, recordings):
    """Return a copy of the recorded workspaces."""
    return Path(shutil.copytree(recordings / "foreign", tmp_path / "foreign"))


SHOWN = (
    "every_site_took_part",
    "rounds_completed",
    "came_to_its_end",
    "printed_models_are_trained",
    "results_are_good",
    "no_error_logged",
    "trainers_print_no_failure",
)


def _archive(poc, change):
    """Rewrite the archive of the POC's job store, each text through ``change(name, text)``."""
    path = poc / "jobs-storage" / JOB / "workspace"
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, change(name, content.decode("latin-1")).encode("latin-1"))


@pytest.mark.parametrize(
    "named",
    [
        "simulator",
        "simulator/hello_numpy",
        "poc",
        "poc/example_project",
        f"poc/{PROVISION}",
        f"poc/{PROVISION}/site-1/{JOB}",
        f"poc/jobs-storage/{JOB}",
    ],
)
def test_a_clean_run_is_unproven_with_what_it_shows(foreign, named):
    verdict = judge_run(foreign / named)
    assert (verdict.verdict, verdict.job) == ("UNPROVEN", "hello_numpy")
    assert verdict.host in {"simulator_server", "example_project"}
    assert states_of(verdict) == dict.fromkeys(SHOWN, "holds")
    shows = "NVFlare's files do not show what each site sent. They show: site-1, site-2 "
    assert verdict.cause.startswith(shows)
    assert 10 < verdict.duration_s < 60


def test_a_long_run_whose_first_rounds_are_in_another_log_did_not_fail(foreign):
    log = foreign / "simulator/hello_numpy" / LOG
    text = log.read_text()
    log.with_name("log.txt.1").write_text(text[: text.index("Round 1 started")])
    log.write_text(text[text.index("Round 1 started") :])
    verdict = judge_run(foreign / "simulator")
    messages = {result.claim: result.message for result in verdict.evidence}
    assert verdict.verdict == "UNPROVEN"
    assert messages["rounds_completed"] == "FedAvg completed 2 of 2 rounds."


def test_a_workspace_that_went_through_windows_is_the_same(foreign):
    before = judge_run(foreign / "simulator")
    for path in foreign.rglob("simulator/**/*.txt"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    after = judge_run(foreign / "simulator")
    assert (after.verdict, after.cause, states_of(after)) == (before.verdict, before.cause, states_of(before))


def test_the_sites_and_the_rounds_are_reported(foreign):
    messages = {result.claim: result.message for result in judge_run(foreign / "simulator").evidence}
    assert messages["rounds_completed"] == "FedAvg completed 2 of 2 rounds."
    assert messages["every_site_took_part"] == "site-1, site-2 returned all of 4 tasks."


def test_a_crashed_trainer_is_the_cause_of_a_failure(foreign):
    verdict = judge_run(foreign / "simulator-crash")
    assert verdict.verdict == "FAIL"
    missing = "A package is missing: ModuleNotFoundError: No module named 'no_such_module' at client.py:5"
    assert verdict.cause == missing
    assert (verdict.layer, verdict.findings[0].name) == ("environment", "exception")
    failed = result_of(verdict, "trainers_print_no_failure")
    line = (foreign / "simulator-crash" / failed.file).read_text().splitlines()[failed.line - 1]
    assert line.endswith("ModuleNotFoundError: No module named 'no_such_module'")
    broken = {"results_are_good", "every_site_took_part", "rounds_completed", "no_error_logged"}
    assert {claim for claim, state in states_of(verdict).items() if state == "fails"} == broken


LOG, ERRORS = "server/log.txt", "server/log_error.txt"
STAMP = "2026-11-21 08:48:20,000"
ERROR = f"{STAMP} - ServerRunner - ERROR - "
ABORT = f"{ERROR}Aborting current RUN due to no reason"
FAILED = f"{STAMP} - ClientAPILauncherExecutor - INFO - launcher completed with status failed at time 1.0"
GONE = f"{STAMP} - PTClientAPILauncherExecutor - INFO - pipe status changed to _PEER_GONE_: send failed"
CONFIG = "server/simulate_job/app_server/config/config_fed_server.json"
PRINTED = f"{STAMP} - SubprocessLauncher - INFO"
STILL_RUNS = replaced(LOG, r"(?s)Round 1 started.*")
BROKEN = [
    (added(LOG, ABORT), "no_error_logged", "fails"),
    (added(ERRORS, f"{ERROR}no"), "no_error_logged", "fails"),
    (removed(LOG, ERRORS), "no_error_logged", "unknown"),
    (replaced(LOG, r".*Aggregated 2/2 results\n", count=1), "rounds_completed", "fails"),
    (replaced(LOG, "Aggregated 2/2 results", "Aggregated 1/2 results", 1), "rounds_completed", "fails"),
    (STILL_RUNS, "rounds_completed", "unknown"),
    (STILL_RUNS, "came_to_its_end", "unknown"),
    (replaced(CONFIG, r"workflows\.fedavg\.FedAvg", "workflows.cyclic.Cyclic"), "rounds_completed", "fails"),
    (added("site-2/log.txt", FAILED), "results_are_good", "fails"),
    (replaced("site-2/log.txt", r"(?m)^(?=.*end current RUN)", f"{GONE}\n", 1), "results_are_good", "fails"),
    (added("site-1/log_error.txt", f"{ERROR}no"), "no_error_logged", "fails"),
    (added("site-1/log.txt", f"{PRINTED} - ValueError: no"), "trainers_print_no_failure", "unknown"),
]


def test_a_trainer_that_nvflare_ends_with_its_run_has_not_failed(foreign):
    run = foreign / "simulator/hello_numpy"
    added("site-2/log.txt", GONE)(run)
    assert states_of(judge_run(run))["results_are_good"] != "fails"


@pytest.mark.parametrize(("damage", "claim", "state"), BROKEN)
def test_each_claim_fails_where_it_should(foreign, damage, claim, state):
    run = foreign / "simulator/hello_numpy"
    damage(run)
    verdict = judge_run(run)
    assert states_of(verdict)[claim] == state
    assert verdict.verdict == ("FAIL" if state == "fails" else "UNPROVEN")


def test_an_abort_in_the_job_store_of_a_poc_is_found(foreign):
    end = "ServerRunner - ERROR - Aborting current RUN due to no reason\n"
    _archive(foreign / "poc", lambda name, text: text + end if name == "log.txt" else text)
    verdict = judge_run(foreign / "poc")
    assert (verdict.verdict, verdict.cause) == ("FAIL", "NVFlare aborted the run: no reason")


def test_a_poc_whose_job_still_runs_has_its_server_log_in_place(foreign):
    store = foreign / "poc/jobs-storage" / JOB
    with zipfile.ZipFile(store / "workspace") as archive:
        archive.extractall(foreign / "poc" / PROVISION / "server" / JOB)
    (store / "workspace").unlink()
    verdict = judge_run(foreign / "poc")
    assert states_of(verdict)["rounds_completed"] == "holds"
    assert result_of(verdict, "came_to_its_end").file == f"{PROVISION}/server/{JOB}/log.txt"


@pytest.mark.parametrize("size", [0, 100, 1500, 2900])
def test_a_damaged_job_store_proves_nothing(foreign, size):
    path = foreign / "poc/jobs-storage" / JOB / "workspace"
    path.write_bytes(path.read_bytes()[:size])
    verdict = judge_run(foreign / "poc")
    assert verdict.verdict == "UNPROVEN"
    assert states_of(verdict)["no_error_logged"] == "unknown"


def test_of_several_runs_one_has_to_be_named(foreign):
    shutil.copytree(foreign / "simulator-crash/hello_numpy", foreign / "simulator/crashed")
    several = r"holds 2 runs: crashed, hello_numpy\. Fix: name the folder of one"
    with pytest.raises(RecordError, match=several):
        judge_run(foreign / "simulator")
    assert judge_run(foreign / "simulator/crashed").verdict == "FAIL"
    other = "11111111-1111-4111-8111-111111111111"
    shutil.copytree(foreign / "poc/jobs-storage" / JOB, foreign / "poc/jobs-storage" / other)
    with pytest.raises(RecordError, match=f"holds 2 runs: {JOB}, {other}"):
        judge_run(foreign / "poc")
    assert judge_run(foreign / "poc/jobs-storage" / JOB).job == "hello_numpy"


@pytest.mark.parametrize(
    "content", ["[]", '{"workflows": [1, {"path": 3}, {"path": "FedAvg", "args": [1]}]}', "{"]
)
def test_a_configuration_of_another_shape_has_no_rounds(foreign, content):
    for path in (foreign / "simulator").rglob("config_fed_server.json"):
        path.write_text(content)
    assert states_of(judge_run(foreign / "simulator"))["rounds_completed"] == "unknown"


def test_a_folder_beside_a_poc_is_no_run(foreign):
    (foreign / "poc/other").mkdir()
    with pytest.raises(RecordError, match=r"is not a run"):
        judge_run(foreign / "poc/other")
