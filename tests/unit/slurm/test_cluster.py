# SPDX-License-Identifier: Apache-2.0
"""SLURM's description of a cluster, and what a run cannot have there or has to wait for."""

import pytest
from runners.commands import capture_command

from rekindle.hostfacts.frames import parse_frames
from rekindle.records import Allocation
from rekindle.slurm import cluster

SINFO = (
    "gpu*|up|2:00:00|2|idle|8|16000|gpu:2|(null)|n[9-10]|none\n"
    "gpu*|up|2:00:00|1|drained|8|16000|gpu:2|(null)|n11|disk | is full\n"
    "gpu*|up|2:00:00|1|down*|8|16000|gpu:2|(null)|n12|Not responding\n"
    "old|inact|infinite|1|idle|4+|900+|(null)|amd,big|m1|none\n"
)
"""As SLURM 22.05.8 prints it."""


def known(sinfo=SINFO, accounts="", qos="", status=0):
    frames = [("sinfo", status, sinfo), ("accounts", 0, accounts), ("qos", 0, qos), ("end", 0, "")]
    return cluster.read_cluster(
        parse_frames("".join(f"@@x {name} {code}\n{text}\n" for name, code, text in frames), "x")
    )


def asked(**changes):
    return Allocation(room="slurm", **{"partition": "gpu", "nodes": 2, "time": "01:00:00", **changes})


def test_each_group_of_nodes_is_listed_with_its_state_and_the_reason():
    found = known(accounts="research||normal|2:00:00|4|||\n", qos="normal|1-00:00:00|||\n\n")
    assert [(group.nodes, group.count, group.state, group.why) for group in found.groups] == [
        ("n[9-10]", 2, "idle", None),
        ("n11", 1, "drained", "disk | is full"),
        ("n12", 1, "down*", "Not responding"),
        ("m1", 1, "idle", None),
    ]
    gpu, old = found.groups[0], found.groups[-1]
    shown = (gpu.partition, gpu.cpus, gpu.memory_mib, gpu.gres, gpu.features)
    assert shown == ("gpu", 8, 16000, "gpu:2", None)
    shown = (old.cpus, old.gres, old.features, old.time_limit, old.up)
    assert shown == (4, None, "amd,big", "infinite", False)
    assert found.limits == ("accounts: research||normal|2:00:00|4|||", "qos: normal|1-00:00:00|||")


@pytest.mark.parametrize(
    "answers", [{"status": 127}, {"sinfo": "no|fields\n"}, {"sinfo": SINFO.replace("|8|", "|x|")}]
)
def test_a_cluster_that_does_not_answer_is_not_known(answers):
    assert known(**answers) is None


def test_the_commands_answer_in_frames_where_there_is_no_slurm():
    done = capture_command(["sh", "-c", cluster.make_query("x")], check=True)
    frames = parse_frames(done.stdout, "x")
    assert list(frames) == ["sinfo", "accounts", "qos", "end"]
    assert cluster.read_cluster(frames) is None


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"time": "02:00:00"},
        {"time": "02:00:01", "extra": ("--qos=long",)},
        {"partition": "old", "nodes": 1, "time": "900-00:00:00"},
    ],
)
def test_what_the_cluster_may_give_is_not_refused(changes):
    assert list(cluster.find_refusals(known(), asked(**changes), "login")) == []


def test_what_the_cluster_never_gives_is_refused(golden):
    wrong = ({"partition": "nosuch"}, {"nodes": 5}, {"time": "02:00:01"})
    refused = [list(cluster.find_refusals(known(), asked(**changes), "login")) for changes in wrong]
    golden(*(str(complaint) for (complaint,) in refused))


def test_nodes_that_take_no_jobs_are_named_where_too_few_are_left(golden):
    assert list(cluster.find_warnings(known(), asked(), "login")) == []
    (few,) = cluster.find_warnings(known(), asked(nodes=3), "login")
    (down,) = cluster.find_warnings(known(), asked(partition="old", nodes=1), "login")
    golden(few, down)


@pytest.mark.parametrize(
    ("nodes", "name"),
    [
        ("n9", "n9"),
        ("n[9-10],m1", "n9"),
        ("gpu-[001-004,009]", "gpu-001"),
        ("r[1-2]n[1-4]", "r1n1"),
        ("../x", ""),
        ("", ""),
    ],
)
def test_the_first_of_nodes(nodes, name):
    assert cluster.take_first(nodes) == name


@pytest.mark.parametrize(
    ("nodes", "name", "there"),
    [
        ("n[9-10]", "n10", True),
        ("n[9-10]", "n11", False),
        ("n[9-10]", "n1", False),
        ("gpu-[001-004,009],m1", "gpu-009", True),
        ("gpu-[001-004,009],m1", "gpu-9", False),
        ("gpu-[001-004,009],m1", "m1", True),
        ("r[1-2]n[1-4]", "r2n4", True),
        ("n[x-y]", "n1", False),
        ("n[1-x]", "n1", False),
        ("n[²-³]", "n2", False),
        ("n" + "[1-9]" * 40, "n" + "1" * 40 + "x", False),
    ],
)
def test_whether_a_node_is_one_of_several(nodes, name, there):
    (group, *_) = known(SINFO.replace("n[9-10]", nodes)).groups
    assert cluster.has_node([group], name) is there
