# SPDX-License-Identifier: Apache-2.0
"""site.yml over SSH: two hosts, and two of which one is broken."""

import json
import re
import subprocess

import pytest
from runners.commands import capture_command
from runners.plays import play

from rekindle.records import EnvRecord, HostRecord, VerdictRecord, read_record

HOSTS = ("first", "second")


@pytest.fixture
def without_sshd(site, pair):
    """Stop the second host's sshd, and return its name."""
    root = pair.ssh("second", "systemctl stop ssh.service", user="root")
    subprocess.run(root, check=True)
    pair.hang_up()
    yield "second"
    pair.hosts["second"].cut_power()
    pair.up([])


def test_both_pass(site):
    assert site.status == 0, site.output
    for host in HOSTS:
        assert read_record(site.results / host / "pt_ddp" / "verdict.json", VerdictRecord).verdict == "PASS"
        assert re.search(rf"{host}\s.*pt_ddp\s.*PASS", site.output)


def test_the_records_are_of_debian_12_and_built_there(site):
    for host in HOSTS:
        record = read_record(site.results / host / "host.json", HostRecord)
        assert (record.os.id, record.os.version) == ("debian", "12")
        own = [python.path for python in record.pythons if python.archive is None]
        assert own == ["/usr/bin/python3.11"]
        torch = read_record(site.results / host / "env.json", EnvRecord).environments[1]
        assert torch.path.startswith("/home/lease/rekindle/envs/torch-")


def test_what_is_home_is_not_collected_again(site, pair, small):
    done = play("playbooks/collect.yml", pair.inventory, site.results, "--limit", "first", cwd=small)
    assert done.status == 0, done.output
    assert re.search(r"^first\s+: ok=\d+\s+changed=0 ", done.output, re.M), done.output


def test_the_hosts_have_no_way_out(pair):
    for host in HOSTS:
        routes = capture_command(pair.ssh(host, "ip route"), check=True).stdout
        assert "default" not in routes
        assert re.fullmatch(r"10\.77\.\d+\.0/24 dev eth0 .*\n", routes)


def test_of_two_hosts_the_one_that_is_broken_is_named_and_the_other_passes(
    site, pair, small, without_sshd, tmp_path
):
    done = play("site.yml", pair.inventory, tmp_path / "r", cwd=small)
    assert done.status != 0
    assert read_record(tmp_path / "r" / "first" / "pt_ddp" / "verdict.json", VerdictRecord).verdict == "PASS"
    assert re.search(rf"^{without_sshd}\s.*SKIPPED\s", done.output, re.M)
    rows = {row["host"]: row for row in json.loads((tmp_path / "r" / "results.json").read_text())["rows"]}
    assert (rows["first"]["verdict"], rows["second"]["verdict"]) == ("PASS", "SKIPPED")
    assert re.search(r"(refused|unreachable|connect).*Fix:", rows["second"]["cause"], re.I | re.S)
