# SPDX-License-Identifier: Apache-2.0
"""What is between hosts: a link or host that something is wrong with is named, and nothing waits for it."""

import subprocess
import time

import pytest
from fabrics import broken, shaped
from lab import network
from lab.labs import Lab
from runners.plays import play

from rekindle.records import FabricRecord, VerdictRecord, read_record

HOSTS = ("one", "two", "three", "four")
WAITS_FOR_NONE_S = 400


@pytest.fixture(scope="module")
def four(named):
    """Return a lab of four hosts, whose ways to each other have a rate."""
    with shaped(Lab(named("fabric"), light=True), HOSTS) as lab:
        yield lab


@pytest.fixture
def survey(four, tmp_path):
    def run():
        began = time.monotonic()
        address = f"rekindle_fabric_address={four.hosts[HOSTS[0]].address}"
        done = play("fabric.yml", four.inventory, tmp_path / "r", "-e", address)
        verdicts = {
            host: read_record(done.results / host / "fabric/verdict.json", VerdictRecord) for host in HOSTS
        }
        return done, verdicts, time.monotonic() - began

    return run


def test_a_fabric_as_it_should_be_passes(survey):
    done, verdicts, _ = survey()
    assert {host: (of.verdict, of.cause) for host, of in verdicts.items()} == dict.fromkeys(
        HOSTS, ("PASS", None)
    ), done.output
    assert done.status == 0, done.output
    record = read_record(done.results / "fabric.json", FabricRecord)
    assert len({look.hosts for look in record.looks}) == 7  # six pairs, and all together
    assert all(look.transports == ("TCP",) and look.devices == ("eth0",) for look in record.looks)
    assert "host × host" in (done.results / "report.html").read_text()


def test_a_host_whose_cpu_others_use_passes(four, survey):
    """Two of three operations wait there, as for a CPU, by a quarter of what one takes."""
    waits = (
        "all_reduce.turn = getattr(all_reduce, 'turn', 0) + 1; time.sleep(0.02 * (all_reduce.turn % 3 > 0))"
    )
    with broken(four, one=waits):
        done, verdicts, _ = survey()
    assert {host: of.cause for host, of in verdicts.items()} == dict.fromkeys(HOSTS), done.output


def test_a_slow_link_and_one_that_drops_packets_are_named(four, survey):
    network.shape_ways(four.number, len(HOSTS), slow=[(1, 2)], lossy=[(3, 4)])
    try:
        done, verdicts, _ = survey()
    finally:
        network.shape_ways(four.number, len(HOSTS), slow=(), lossy=())
    assert done.status != 0
    slow, drops = verdicts["one"].cause, verdicts["three"].cause
    assert slow.startswith("The link between one and two has "), done.output
    assert drops.startswith("The link between four and three loses packets: TCP sends "), done.output
    assert (verdicts["two"].cause, verdicts["four"].cause) == (slow, drops)
    assert {of.action for of in verdicts.values()} == {"RETEST"}


def test_a_host_that_computes_wrongly_and_one_that_hangs_are_named(four, survey):
    with broken(four, three="values[7] += 1", four="time.sleep(3600)"):
        done, verdicts, seconds = survey()
    assert verdicts["three"].cause.startswith("three gives wrong results"), done.output
    assert verdicts["four"].cause.startswith("four gives no result with "), done.output
    assert (verdicts["three"].action, verdicts["four"].action) == ("REPLACE", "DRAIN")
    assert [verdicts[host].verdict for host in ("one", "two")] == ["PASS", "PASS"], done.output
    assert seconds < WAITS_FOR_NONE_S


def test_a_host_whose_player_stops_holds_up_no_other(four, survey):
    """It answers no more, is named, and the rest is measured without it."""
    with broken(four, four="import os, signal; os.kill(os.getppid(), signal.SIGSTOP)"):
        done, verdicts, seconds = survey()
    subprocess.run(four.ssh("four", "pkill -KILL -f rekindle.fabric", user="root"), check=False)
    assert verdicts["four"].cause.startswith("four gave no answer while it was measured with "), done.output
    assert [verdicts[host].verdict for host in HOSTS[:3]] == ["PASS"] * 3, done.output
    assert seconds < WAITS_FOR_NONE_S
