# SPDX-License-Identifier: Apache-2.0
"""What is collected of a measurement between hosts is bounded and of these hosts, and is judged here."""

from itertools import combinations
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekindle.host import folders
from rekindle.records import Bandwidth, FabricLook, FabricRecord, VerdictRecord, read_record, write_record

HOSTS = ("h0", "h1", "h2", "h3")
LOOKS = [
    FabricLook(
        hosts=pair, outcome="measured", bandwidths=(Bandwidth(op="all_reduce", size=1 << 20, gb_s=1.0),)
    )
    for pair in combinations(HOSTS, 2)
]
RECORD = FabricRecord(hosts=HOSTS, started="2026-11-28T09:00:00Z", seconds=60, looks=tuple(LOOKS))


@pytest.fixture
def task(load, tmp_path):
    """Return what runs the action; the first host has the record of a survey, or what a test puts there."""
    content = {"path": tmp_path / "there.json"}
    write_record(content["path"], RECORD)

    class Connection:
        def fetch_file(self, there, here):
            assert there == "/r/logs/fabric/fabric.json"
            Path(here).write_bytes(content["path"].read_bytes())

    def run(do, hosts=("h0", "h1", "h2", "h3"), nodes=0):
        args = {"do": do, "results": str(tmp_path / "r"), "hosts": [*hosts], "folder": "/r/logs/fabric"}
        return load("survey_fabric").run({**args, "nodes": nodes}, host="h0", _connection=Connection())

    run.there, run.results = content["path"], tmp_path / "r"
    return run


def test_what_the_first_host_has_is_collected_and_judged_here(task, own_state):
    assert task("collect") == {}
    assert task("judge")["msg"] == "Something is wrong with 0 of 4 hosts, or with a link of theirs."
    assert read_record(task.results / "h2/fabric/verdict.json", VerdictRecord).verdict == "PASS"
    assert (task.results / folders.SUMS).exists()


def test_hosts_of_which_nothing_was_collected_are_not_proven(task, own_state):
    task("judge")
    verdict = read_record(task.results / "h2/fabric/verdict.json", VerdictRecord)
    assert (verdict.verdict, verdict.started) == ("UNPROVEN", None)


def test_what_is_no_record_of_these_hosts_is_refused(task):
    assert task("collect", ("h0", "h1"))["msg"].startswith("/r/logs/fabric/fabric.json is of other hosts")
    task.there.write_text("{}")
    assert "cannot be collected" in task("collect")["msg"]
    task.there.write_text("[" * 100_000)
    assert "cannot be collected" in task("collect")["msg"]
    assert not (task.results / folders.FABRIC_RECORD).exists()


def test_what_is_collected_of_an_allocation_is_of_as_many_nodes(task, own_state):
    assert task("collect", (), nodes=4) == {}
    record = read_record(task.results / "h0" / folders.FABRIC_RECORD, FabricRecord)
    assert (record.host, record.hosts) == ("h0", HOSTS)
    task("judge", ("h0",))
    assert read_record(task.results / "h0/fabric/verdict.json", VerdictRecord).verdict == "PASS"
    assert "is of other hosts" in task("collect", (), nodes=3)["msg"]
    odd = [replace(look, hosts=("a/../b", "c")) for look in LOOKS[:1]]
    write_record(task.there, replace(RECORD, hosts=("a/../b", "c"), looks=tuple(odd)))
    assert "is of other hosts" in task("collect", (), nodes=2)["msg"]
