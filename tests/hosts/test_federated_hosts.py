# SPDX-License-Identifier: Apache-2.0
"""What can happen to hosts and links of a federation: before anything starts, and during a job."""

import json
import re
import time

from federations import AGAIN, MIN_SITES, Going, root
from lab.clock import set_clock
from runners.plays import play

from rekindle.federation.records import KitRecord
from rekindle.records import read_record


def test_a_link_that_is_down_for_a_minute_is_named(going):
    going.lab.hosts["two"].set_link(up=False)
    try:
        time.sleep(60)
    finally:
        going.lab.hosts["two"].set_link(up=True)
    verdict, seconds = going.ended()
    cause = "NVFlare's server heard no more from two: its link, its host or its client was down."
    assert (verdict.verdict, verdict.cause, verdict.layer) == ("FAIL", cause, "network")
    assert seconds < 120, going.output


def test_a_site_gives_up_on_its_own_where_its_link_stays_down(going):
    """After 150 s it has ended what it runs, and ten minutes are no different."""
    going.lab.hosts["two"].set_link(up=False)
    try:
        verdict, _ = going.ended(status=4)
        time.sleep(max(0, 180 - (time.monotonic() - going.since)))
    finally:
        going.lab.hosts["two"].set_link(up=True)
    assert (verdict.verdict, verdict.layer) == ("FAIL", "network"), verdict.cause
    assert "two" in verdict.cause
    assert root(going.lab, "two", "pgrep -f nvflare") == ""
    assert going.start(seen="two pt_ddp: round 1/3").ended(status=0)[0].verdict == "PASS"


def test_a_job_goes_on_without_a_host_that_lost_its_power(proven, members, shop, tmp_path):
    going = Going(members, shop, tmp_path).start(*AGAIN, *MIN_SITES)
    members.hosts["two"].cut_power()
    try:
        verdict, _ = going.ended(status=4)
    finally:
        members.hosts["two"].start()
        members.await_ssh("two")
    assert (verdict.verdict, verdict.lost) == ("PASS", {"two": 1})
    assert "It went on without sites that left: two in round 2." in going.output
    assert re.search(r"two +– +LOST", going.output), going.output


def test_a_site_with_a_foreign_kit_is_refused_before_anything_starts(members, shop, tmp_path):
    """An authority is one results folder's: another one would make the kit anew."""
    results = tmp_path / "r"
    assert play("playbooks/federate.yml", members.inventory, results, cwd=shop).status == 0
    kit = read_record(results / "two" / "kit.json", KitRecord).path
    other = f"{kit}/startup/rootCA.pem"
    root(members, "two", f"cp -p {other} /tmp/ca.pem; openssl req -x509 -newkey rsa:2048 -nodes -days 1 "
         f"-subj /CN=other -keyout /dev/null -out {other} 2>/dev/null")  # fmt: skip
    try:
        done = play("playbooks/federate.yml", members.inventory, results, "-e", "rerun=true", cwd=shop)
    finally:
        root(members, "two", f"cp -p /tmp/ca.pem {other}")
    rows = {row["host"]: row for row in json.loads((results / "results.json").read_text())["rows"]}
    assert done.status != 0
    assert "is of another CA than this site's kit" in rows["two"]["cause"], rows["two"]
    assert rows["federations"]["verdict"] == "SKIPPED", rows["federations"]


def test_a_clock_that_is_an_hour_off_is_refused_before_anything_starts(proven, members, shop, tmp_path):
    """NVFlare 2.9's client of a site that is behind waits forever, with no word in any log."""
    set_clock(members.hosts["one"], 3600)
    set_clock(members.hosts["two"], -3600)
    try:
        done = play("playbooks/federate.yml", members.inventory, tmp_path / "r", *AGAIN, cwd=shop)
    finally:
        set_clock(members.hosts["one"], 0)
        set_clock(members.hosts["two"], 0)
    rows = {row["host"]: row for row in json.loads((tmp_path / "r/results.json").read_text())["rows"]}
    assert done.status != 0, done.output
    for host, off in (("one", "ahead of"), ("two", "behind")):
        assert re.match(rf"This site's clock is 3[56]\d\d s {off} the server's;", rows[host]["cause"]), rows
        assert " Its advice: set both clocks, for example by NTP" in rows[host]["cause"]
    assert rows["federations"]["verdict"] == "SKIPPED", rows["federations"]
    assert "Start pt_ddp" not in done.output
