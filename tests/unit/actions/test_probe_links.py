# SPDX-License-Identifier: Apache-2.0
"""Trying the ways of a federation: what a host answers is bounded, and becomes link.json or one sentence."""

import json

import pytest
from msgspec.structs import replace

from rekindle.federation.records import link_in
from rekindle.host import folders
from rekindle.records import Allocation, write_record
from rekindle.records.layout import host_in

GOOD = {
    "rtt_s": 0.053,
    "release": "2.9.0",
    "down_bit_s": 2e7,
    "up_bit_s": 1e7,
}


@pytest.fixture
def task(load, home):
    """Return what runs the action on a host that prints a text."""

    def run(do, printed, stderr=""):
        commands = []

        def execute(command):
            commands.append(command)
            return {"rc": 0, "stdout": printed, "stderr": stderr}

        args = {"do": do, "kit": "/r/kit", "python": "/e/python", "payload": "/r/p.zip", "home": str(home)}
        args |= {"address": "server", "port": 8102, "release": "2.9.0"}
        result = load("probe_links").run(args, host="gpu-1", _low_level_execute_command=execute)
        return result, commands

    return run


def test_a_probe_leaves_a_record(task, home):
    result, commands = task("probe", f"Welcome\n{json.dumps(GOOD)}\n")
    assert result == {"changed": False}
    link = link_in(home)
    assert (link.host, link.address, link.port, link.up_bit_s) == ("gpu-1", "server", 8102, 1e7)
    assert commands[0].startswith("PYTHONPATH=/r/p.zip /e/python -m rekindle.reach probe '{")


def test_a_site_on_slurm_tries_the_way_from_a_node(task, home):
    asked = Allocation(
        room="slurm", partition="gpu", gpus_per_node=2, time="02:00:00", extra=("--exclusive",)
    )
    write_record(home / folders.HOST_RECORD, replace(host_in(home), allocation=asked))
    (_, (probe,)), (_, (listen,)) = task("probe", json.dumps(GOOD)), task("listen", "{}")
    words = "--quiet --nodes=1 --ntasks=1 --job-name=rekindle-reach --partition=gpu --time=00:03:00"
    more = "--gpus-per-node=2 --exclusive --immediate=120 /e/python -m rekindle.reach probe "
    assert probe.startswith(f"PYTHONPATH=/r/p.zip srun {words} {more}")
    assert "srun" not in listen
    refused, _ = task("probe", "", "srun: error: Unable to allocate resources: Job allocation is revoked\n")
    assert "Unable to allocate resources" in refused["msg"]
    assert refused["msg"].endswith("and whether sinfo has a free one.")


def test_listener_begins_and_ends_in_the_folder_of_its_port(task):
    (begun, (first,)), (ended, (last,)) = task("listen", "{}"), task("end", "{}")
    assert begun == ended == {"changed": False}
    assert first.split()[5] == last.split()[5]
    assert last.endswith("/logs/reach/8102")


def test_what_is_wrong_fails_the_task_and_leaves_no_older_record(task, home):
    task("probe", json.dumps(GOOD))
    result, _ = task("probe", json.dumps({"message": "There is\x1b[2J\nno route.", "fix": "make one."}))
    message = "There is no route. Its advice: make one."
    assert result["complaint"] == {
        "message": message,
        "fix": "correct what it names, and run the play again.",
    }
    assert not (home / folders.LINK_RECORD).exists()


@pytest.mark.parametrize(
    "printed",
    ["", "[]", "{" * 9000, json.dumps({"message": "x" * 1_000_000}), "Traceback"],
    ids=["nothing", "no table", "deep", "long", "text"],
)
def test_a_host_that_does_not_answer(task, printed):
    result, _ = task("probe", printed, "ModuleNotFoundError: No module named 'rekindle'\n")
    assert result["msg"].startswith("gpu-1 did not answer: ModuleNotFoundError: No module named 'rekindle'")


@pytest.mark.parametrize(
    "wrong",
    [{"down_bit_s": 0}, {"rtt_s": -1}, {"up_bit_s": 1e300}, {"rtt_s": "1"}, {"release": None}, {"more": 1}],
    ids=str,
)
def test_a_host_that_answers_what_cannot_be(task, home, wrong):
    result, _ = task("probe", json.dumps({**GOOD, **wrong}))
    assert result["msg"].startswith("gpu-1 does not report its link: ")
    assert not (home / folders.LINK_RECORD).exists()


def test_a_host_cannot_speak_for_another(task, home):
    task("probe", json.dumps({**GOOD, "host": "gpu-2", "port": 1}))
    assert (link_in(home).host, link_in(home).port) == ("gpu-1", 8102)
