# SPDX-License-Identifier: Apache-2.0
"""A login node of a SLURM cluster: host.json is of a node that SLURM gives, login.json of itself."""

import shlex

import pytest

from rekindle.records import Allocation, HostRecord, read_record

RECORDED = "0123456789abcdef"
"""The nonce of the recording."""
MARK = "/tmp/rekindle/.rekindle-AbCdEfGh"
ASKED = {"partition": "gpu", "nodes": 2, "gpus_per_node": 2, "time": "02:00:00", "extra": ["--exclusive"]}


@pytest.fixture
def collect(load, tmp_path, recordings):
    """Collect by way of SLURM; returns the result and all commands of the login node."""
    raw = (recordings / "h200-x2-collect.txt").read_text()

    def answered(command, mark, of):
        words = shlex.split(command)
        more = f"@@{RECORDED} mark {mark}\n\n@@{RECORDED} node 0\nn9\n\n@@{RECORDED} end"
        printed = raw.replace(f"@@{RECORDED} end", more)
        printed = printed.replace('PRETTY_NAME="', f'PRETTY_NAME="{of} ')
        return {"rc": 0, "stdout": printed.replace(RECORDED, words[words.index("--") + 1]), "stderr": ""}

    def run(mktemp=None, srun=None, mark=0, slurm=ASKED, sinfo=None):
        commands = []

        def execute(command, **_):
            if "sinfo " in command:
                nonce = command.rpartition("@@")[2].split()[0]
                frames = [("sinfo", 0 if sinfo else 127, sinfo or ""), ("accounts", 1, ""), ("qos", 1, "")]
                printed = "".join(f"\n@@{nonce} {name} {status}\n{text}\n" for name, status, text in frames)
                return {"rc": 0, "stdout": f"{printed}\n@@{nonce} end 0\n", "stderr": ""}
            commands.append(command)
            if command.startswith("mktemp "):
                return mktemp or {"rc": 0, "stdout": f"Welcome\n{MARK}\n", "stderr": ""}
            if command.startswith("rm "):
                return {"rc": 0, "stdout": "", "stderr": ""}
            if " srun " in command:
                return srun or answered(command, mark, "Node's")
            return answered(command, 0, "Login's")

        args = {"root": "~/rekindle", "tmpdir": "/tmp", "gpus_required": True, "min_free_gb": 1}
        args |= {"slurm": slurm, "python_archive": "", "gpus": [], "dest": str(tmp_path)}
        return load("collect_facts").run(args, host="login-1", _low_level_execute_command=execute), commands

    return run


def test_the_node_is_the_host_and_the_login_node_has_a_record_of_its_own(collect, tmp_path):
    result, (_, mktemp, srun, rm) = collect()
    host, login = (
        read_record(tmp_path / "host.json", HostRecord),
        read_record(tmp_path / "login.json", HostRecord),
    )
    assert (host.host, host.os.name.split()[0]) == ("login-1", "Node's")
    assert host.allocation == Allocation(room="slurm", **{**ASKED, "extra": ("--exclusive",)})
    assert (login.host, login.os.name.split()[0], login.allocation) == ("login-1", "Login's", None)
    assert result["host"]["allocation"] == {"room": "slurm", **ASKED, "account": None}
    assert mktemp.endswith("/.rekindle-XXXXXXXX")
    asked = "srun --quiet --nodes=1 --ntasks=1 --job-name=rekindle-preflight --partition=gpu --time=00:03:00"
    asked += " --gpus-per-node=2 --exclusive --immediate=120 sh"
    assert shlex.split(srun)[:13] == ["env", f"REKINDLE_MARK={MARK}", *asked.split()]
    assert rm == f"rm -f {MARK}"


def test_a_host_that_is_no_login_node_any_more_has_no_record_of_one(collect, tmp_path):
    collect()
    _, commands = collect(slurm={})
    assert len(commands) == 1
    assert not (tmp_path / "login.json").exists()
    assert read_record(tmp_path / "host.json", HostRecord).allocation is None


def failed(stderr="", stdout="", rc=1):
    return {"rc": rc, "stdout": stdout, "stderr": stderr}


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({"srun": failed("srun: error: Unable to allocate resources")}, 4),
        ({"srun": failed(stdout="no shell", rc=0)}, 4),
        ({"mark": 1}, 4),  # a folder that the nodes do not share
        ({"mktemp": failed("mktemp: no\n space")}, 2),  # and no node is asked for
        ({"mktemp": failed(stdout="\n", rc=0)}, 2),
    ],
    ids=["no node", "no shell", "not shared", "no space", "no file"],
)
def test_a_node_or_folder_that_is_not_given_is_one_sentence(golden, collect, tmp_path, answers, asked):
    result, commands = collect(**answers)
    assert (result["failed"], len(commands)) == (True, asked)
    (mktemp,) = [command for command in commands if command.startswith("mktemp ")]
    place = shlex.split(mktemp)[1].removesuffix("/.rekindle-XXXXXXXX")
    golden(result["msg"].replace(place, "$ROOT"))
    assert (commands[-1] == f"rm -f {MARK}") is (asked == 4)
    assert not (tmp_path / "host.json").exists()


N9 = "gpu*|up|1-00:00:00|1|idle|8|16000|gpu:2|(null)|n9|none\n"
OTHERS = (
    "gpu*|up|1-00:00:00|1|drained|8|16000|gpu:2|(null)|n10|disk|is full\n"
    "gpu*|up|1-00:00:00|2|mixed|64|500000|(null)|amd|m[1-2]|none\n"
    "cpu|up|infinite|2|idle|64|500000|(null)|amd|m[1-2]|none\n"
)


def test_a_node_of_each_kind_that_the_partition_has_is_looked_at(golden, collect, tmp_path):
    result, commands = collect(sinfo=N9 + OTHERS)
    (other,) = [command for command in commands if "--nodelist" in command]
    assert "--nodelist=m1 --immediate=20" in other
    assert "gpus-per-node" not in other
    assert [path.name for path in tmp_path.glob("node-*.json")] == ["node-m1.json"]
    known = read_record(tmp_path / "login.json", HostRecord).cluster
    groups = [f"{group.partition} {group.nodes} {group.state} {group.why}" for group in known.groups]
    golden(*groups, *result["warnings"])
    collect(sinfo=N9)
    assert list(tmp_path.glob("node-*.json")) == []


def test_what_the_cluster_never_gives_is_refused_before_a_node_is_asked_for(golden, collect, tmp_path):
    result, commands = collect(sinfo=N9.replace("1-00:00:00", "1:00:00"))
    golden(*result["msg"].splitlines())
    assert len(commands) == 1
    assert read_record(tmp_path / "login.json", HostRecord).cluster
