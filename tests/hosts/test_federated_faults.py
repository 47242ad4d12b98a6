# SPDX-License-Identifier: Apache-2.0
"""What can happen to the processes of a federation during a job."""

import pytest
from federations import HOSTS, LISTENS, SERVER, kill, root, verdict_in
from runners.plays import checkout, play


@pytest.mark.parametrize(
    ("host", "module", "cause"),
    [
        ("two", "client.client_train", "NVFlare's client of two was killed by signal 9."),
        ("server", "server.server_train", "NVFlare's server was killed by signal 9"),
    ],
)
def test_a_parent_that_is_killed_is_named(going, host, module, cause):
    assert root(going.lab, SERVER, LISTENS)
    kill(going.lab, host, f"nvflare.private.fed.app.{module}")
    verdict, seconds = going.ended()
    assert (verdict.verdict, cause in verdict.cause) == ("FAIL", True), verdict.cause
    assert seconds < 120, going.output
    for name in HOSTS:
        assert root(going.lab, name, "pgrep -f nvflare") == ""


def test_a_result_that_is_not_finite_does_not_get_in_and_is_named(proven, members, tmp_path):
    """NVFlare alone aggregates it, and the others then fail for it."""
    (tmp_path / "shop").mkdir()
    hostile = checkout(tmp_path / "shop", pt_ddp={"ranks_per_site": 1})
    client = hostile / "flare_jobs/pt_ddp/client.py"
    sends = '    meta = {"NUM_STEPS_CURRENT_ROUND": steps}\n'
    nan = "    if flare.get_site_name() == 'two':\n        weights['layers.0.weight'] *= torch.nan\n"
    client.write_text(client.read_text().replace(sends, sends + nan))
    play("playbooks/federate.yml", members.inventory, tmp_path / "results", cwd=hostile)
    verdict = verdict_in(tmp_path / "results")
    cause = "The result of two was refused: layers.0.weight has numbers that are not finite."
    assert (verdict.verdict, verdict.cause) == ("FAIL", cause)


def test_a_controller_that_is_killed_is_followed_by_the_same_command(going):
    going.kill()
    assert going.start(seen="two pt_ddp: ").ended(status=0)[0].verdict == "PASS"


def test_the_servers_host_is_rebooted_in_mid_job_and_the_same_command_comes_again(going):
    going.lab.hosts[SERVER].cut_power()
    going.lab.hosts[SERVER].start()
    going.lab.await_ssh(SERVER)
    verdict, seconds = going.ended()
    cause = "server, the federation's server, sent nothing: it was rebooted or lost in mid-job."
    assert (verdict.verdict, verdict.cause, verdict.layer) == ("UNPROVEN", cause, "host")
    assert seconds < 120, going.output
    assert going.start(seen="two pt_ddp: round 1/3").ended(status=0)[0].verdict == "PASS"
