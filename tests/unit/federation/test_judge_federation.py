# SPDX-License-Identifier: Apache-2.0
"""A recorded run over four hosts of a federation: it passes, and what breaks it is seen."""

import re
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from samples.edits import edit, json_in, replaced, result_of

from rekindle import doctor
from rekindle.flare.configuration import AGGREGATED, FLOWS, Workflow
from rekindle.flare.tasks import Account
from rekindle.flare.workspace import find_workspaces
from rekindle.judge import judge_run
from rekindle.records import RecordError

RECORDED = Path(__file__).parents[2] / "recordings/federations/pt_ddp-3-sites"
SERVED = "Connection [CN00099 10.77.1.11:8002 <= 10.77.1.99:40000{} is created: PID: 1"


STAMP = r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"


def later_stamp(stamp, seconds):
    moment = datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S,%f") + timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(RECORDED, tmp_path / "run"))


def printed(run, line):
    with (run / "job.log").open("a") as log:
        log.write(f"2026-11-25 18:00:00,000 - conn_manager - INFO - {line}\n")


def later(run, host, seconds):
    """Have the clock of a host be so much later, and all that it wrote."""
    with json_in(run / host / "clock.json") as clock:
        clock["offset_s"] += seconds
    for path in [run / f"samples-{host}.jsonl", *(run / "evidence").glob(f"{host}.*.jsonl")]:
        edit(path, r'"time": ?([\d.]+)', lambda match: f'"time":{float(match[1]) + seconds}')
    for path in (run / "job/workspace/pt_ddp" / host).glob("log*.txt"):
        if path.stat().st_size:
            edit(path, STAMP, lambda match: later_stamp(match[0], seconds))


def test_it_passes_as_any_other_run_does(run):
    verdict = judge_run(run)
    assert verdict.verdict == "PASS", verdict.cause
    messages = {result.claim: result.message for result in verdict.evidence}
    assert messages["only_sites_connected"] == "3 sites connected by TLS, each with its own certificate."
    assert re.search(
        r"the server waited \d\.\d s .* MiB a round, .*gpu-1 \d\.\d received",
        messages["rounds_over_the_network"],
    )


@pytest.mark.parametrize(
    ("line", "state", "message"),
    [
        (SERVED.format(" SSL gpu-9]"), "fails", "gpu-9, no site of the run, connected."),
        (SERVED.format("]"), "fails", "10.77.1.99 connected to the server without TLS."),
        (SERVED.format(" SSL gpu-2]"), "unknown", "gpu-2 connected from 10.77.1.13 and 10.77.1.99."),
        ("Client: New client gpu-9@10.77.1.99 joined. Sent token: x.", "fails", "gpu-9, which is no site"),
    ],
    ids=["a stranger", "without TLS", "a stolen kit", "a stranger joins"],
)
def test_who_else_connected_is_seen(run, line, state, message):
    printed(run, line)
    result = result_of(judge_run(run), "only_sites_connected")
    assert (result.state, message in result.message) == (state, True), result.message


def test_a_kit_that_is_used_twice_is_named_and_a_connection_made_anew_is_no_fault(run):
    evicted = "Connection CN0000{} is evicted for CN0000{} from endpoint gpu-2 for exceeding limit 1"
    printed(run, evicted.format(2, 6))
    assert judge_run(run).verdict == "PASS"
    printed(run, SERVED.format(" SSL gpu-2]"))
    printed(run, evicted.format(6, 7))
    verdict = judge_run(run)
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause.startswith("Two processes use the certificate of gpu-2 at once"), verdict.cause


def test_a_full_disk_of_the_server_is_the_cause_and_sites_that_lost_it_are_echoes(run):
    with json_in(run / "ended.json") as ended:
        ended["reason"] = "interrupted"
        ended["message"] = "cpu-1: The driver cannot write down what it sees: No space left on device."
    lost = "The server at 10.77.1.11:8002 refuses connections for 20 s.\n"
    (run / "gpu-3" / "job.log").write_text(lost)
    verdict = judge_run(run)
    assert (verdict.verdict, verdict.layer) == ("FAIL", "host")
    assert verdict.cause == f"A disk is full: {ended['message']}"


def test_a_site_that_never_joined_is_unknown(run):
    replaced("job.log", r".*New client gpu-3@.*\n")(run)
    result = result_of(judge_run(run), "only_sites_connected")
    assert (result.state, "how gpu-3 joined" in result.message) == ("unknown", True)


def test_a_rank_on_another_host_is_seen(run):
    replaced("evidence/gpu-2.rank-1.jsonl", '"node": "gpu-2"', '"node": "gpu-1"')(run)
    result = result_of(judge_run(run), "ranks_on_their_nodes")
    assert (result.state, result.message) == ("fails", "gpu-2 rank 1 ran on gpu-1, and not on gpu-2.")


def test_a_site_whose_processes_took_no_cpu_time_did_not_train(run):
    replaced("samples-gpu-2.jsonl", r'("nvflare_s"|"others_s"): ?[\d.]+', r"\1:0.0")(run)
    result = result_of(judge_run(run), "every_site_worked")
    assert (result.state, "gpu-2 used no CPU time" in result.message) == ("fails", True)


def test_clocks_of_hosts_may_differ(run):
    later(run, "gpu-2", 5000.0)
    verdict = judge_run(run)
    assert verdict.verdict == "PASS", verdict.cause


def test_times_that_no_clock_explains_are_seen(run):
    later(run, "gpu-2", 5000.0)
    with json_in(run / "gpu-2" / "clock.json") as clock:
        clock["offset_s"] -= 5000.0
    verdict = judge_run(run)
    assert verdict.verdict == "UNPROVEN", verdict.cause


@pytest.fixture
def lost(tmp_path):
    """Return a run that may go on with two sites, and did: its site two was killed in the second round."""
    return Path(shutil.copytree(RECORDED.parent / "pt_ddp-site-lost", tmp_path / "lost"))


def test_a_run_that_may_go_on_without_a_site_passes_and_names_it(lost):
    verdict = judge_run(lost)
    assert verdict.verdict == "PASS", verdict.cause
    assert verdict.lost == {"two": 1}
    late = {(of.site, of.round): of.late_s for of in verdict.rounds}
    assert late["three", 0] == 0
    assert 0.8 < late["one", 0] < 0.9
    assert ("two", 1) not in late
    assert result_of(verdict, "sites_stayed").message.startswith("two left in round 2 of 3, and ")
    message = result_of(verdict, "rounds_completed").message
    assert message == "FedAvg completed 3 of 3 rounds."


def test_nothing_is_asked_of_a_site_that_left_with_its_host(lost):
    shutil.rmtree(lost / "two")
    (lost / "samples-two.jsonl").unlink()
    verdict = judge_run(lost)
    assert verdict.verdict == "PASS", verdict.cause


def test_a_site_of_which_nothing_came_is_the_cause_as_the_server_s_parent_process_names_it(lost):
    shutil.rmtree(lost / "job/workspace/pt_ddp/two")
    cause = doctor.diagnose_run(lost, failed=True).cause
    said = "NVFlare's server heard no more from two: its link, its host or its client was down."
    assert (cause.cause, cause.layer) == (said, "network")


def test_a_run_that_needs_all_sites_fails_without_one(lost):
    replaced("spec.json", '"min_sites": 2', '"min_sites": 3')(lost)
    verdict = judge_run(lost)
    assert (verdict.verdict, verdict.lost) == ("FAIL", {})
    message = result_of(verdict, "sites_stayed").message
    assert message == "two left in round 2 of 3, and the job needs 3 sites."


@pytest.mark.parametrize(("least", "verdict", "without"), [(1, "PASS", {"slurm": -1}), (2, "FAIL", {})])
def test_a_job_may_go_on_without_a_site_that_never_joined(tmp_path, least, verdict, without):
    run = Path(shutil.copytree(RECORDED.parent / "pt_ddp-site-never-joined", tmp_path / "run"))
    with json_in(run / "spec.json") as spec:
        spec["member"]["min_sites"] = least
    judged = judge_run(run)
    assert (judged.verdict, judged.lost) == (verdict, without), judged.cause
    assert result_of(judged, "sites_stayed").message.startswith("slurm never joined, and ") == (least == 1)


def test_the_sites_that_stayed_have_to_do_all_that_they_had_to(lost):
    edit(lost / "evidence/three.rank-1.jsonl", r'.*"round": 2,.*\n', "")
    assert result_of(judge_run(lost), "every_site_trained").state == "fails"


def test_only_the_loss_of_that_site_is_excused(lost):
    log = lost / "job/workspace/pt_ddp/server/log.txt"
    log.write_text(log.read_text().replace("Client two is deemed", "Client four is deemed"))
    verdict = judge_run(lost)
    assert verdict.verdict == "FAIL"
    assert result_of(verdict, "no_error_logged").state == "fails"


def test_rounds_of_a_recipe_count_after_a_loss(lost):
    fedavg = Workflow("controller", "FedAvg", {}, FLOWS["FedAvg"])
    account = Account(find_workspaces(lost)[0], lost=("two",))
    account.sites = ["one", "three"]
    assert len(account.count_rounds(fedavg, AGGREGATED)) == 3
    assert {task.site for task in account.tasks} == {"one", "three"}


@pytest.mark.parametrize(
    ("host", "verdict", "cause"),
    [
        ("gpu-9", "PASS", "None"),
        ("gpu-1", "UNPROVEN", "An event was written while .* gpu-1 was suspended for 2000 s."),
        (None, "UNPROVEN", "An event was written while .* The run was suspended for 2000 s."),
    ],
)
def test_a_site_that_slurm_suspends_stands_alone(run, host, verdict, cause):
    with json_in(run / "ended.json") as ended:
        began = datetime.fromisoformat(ended["started"]).timestamp()
        ended["suspensions"] = [{"since": began - 1000, "until": began + 1000, "host": host}]
    judged = judge_run(run)
    assert judged.verdict == verdict
    assert re.match(cause, str(judged.cause)), judged.cause


def test_a_member_of_no_federation_is_one_sentence_and_that_of_another_room_is_not_asked(run):
    with json_in(run / "spec.json") as spec:
        del spec["member"]["given"]["port"]
    with pytest.raises(RecordError, match=r"^What the run's spec says of its federation .*port"):
        judge_run(run)
    with json_in(run / "spec.json") as spec:
        spec["member"]["room"] = "another"
    assert result_of(judge_run(run), "only_sites_connected").state == "not applicable"
