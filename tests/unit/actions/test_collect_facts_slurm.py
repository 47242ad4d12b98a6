"""A login node of a SLURM cluster: host.json is of a node that SLURM gives, login.json of itself."""

import shlex

import pytest

from rekindle.records import HostRecord, Slurm, read

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
        said = raw.replace(f"@@{RECORDED} end", more)
        said = said.replace('PRETTY_NAME="', f'PRETTY_NAME="{of} ')
        return {"rc": 0, "stdout": said.replace(RECORDED, words[words.index("--") + 1]), "stderr": ""}

    def run(mktemp=None, srun=None, mark=0, slurm=ASKED, sinfo=None):
        commands = []

        def execute(command, **_):
            if "sinfo " in command:
                nonce = command.rpartition("@@")[2].split()[0]
                frames = [("sinfo", 0 if sinfo else 127, sinfo or ""), ("accounts", 1, ""), ("qos", 1, "")]
                said = "".join(f"\n@@{nonce} {name} {status}\n{text}\n" for name, status, text in frames)
                return {"rc": 0, "stdout": f"{said}\n@@{nonce} end 0\n", "stderr": ""}
            commands.append(command)
            if command.startswith("mktemp "):
                return mktemp or {"rc": 0, "stdout": f"Welcome\n{MARK}\n", "stderr": ""}
            if command.startswith("rm "):
                return {"rc": 0, "stdout": "", "stderr": ""}
            if " srun " in command:
                return srun or answered(command, mark, "Node's")
            return answered(command, 0, "Login's")

        args = {"root": "~/rekindle", "tmpdir": "/tmp", "gpus_required": True, "min_free_gb": 1}
        args |= {"slurm": slurm, "dest": str(tmp_path)}
        return load("collect_facts").run(args, host="login-1", _low_level_execute_command=execute), commands

    return run


def test_the_node_is_the_host_and_the_login_node_has_a_record_of_its_own(collect, tmp_path):
    result, (_, mktemp, srun, rm) = collect()
    host, login = read(tmp_path / "host.json", HostRecord), read(tmp_path / "login.json", HostRecord)
    assert (host.host, host.os.name.split()[0], host.slurm.nodes) == ("login-1", "Node's", 2)
    assert (login.host, login.os.name.split()[0], login.slurm) == ("login-1", "Login's", None)
    assert result["host"]["slurm"] == {**ASKED, "account": None, "local_disk": None}
    assert mktemp.endswith("/.rekindle-XXXXXXXX")
    assert shlex.split(srun)[:13] == [
        "env",
        f"REKINDLE_MARK={MARK}",
        "srun",
        "--quiet",
        "--nodes=1",
        "--ntasks=1",
        "--job-name=rekindle-preflight",
        "--partition=gpu",
        "--time=00:03:00",
        "--gpus-per-node=2",
        "--exclusive",
        "--immediate=120",
        "sh",
    ]
    assert rm == f"rm -f {MARK}"


def test_a_host_that_is_no_login_node_any_more_has_no_record_of_one(collect, tmp_path):
    collect()
    _, commands = collect(slurm={})
    assert len(commands) == 1
    assert not (tmp_path / "login.json").exists()
    assert read(tmp_path / "host.json", HostRecord).slurm is None


@pytest.mark.parametrize(
    ("srun", "said"),
    [
        (
            {"rc": 1, "stdout": "", "stderr": "srun: error: Unable to allocate resources"},
            "The collector failed on the host: srun: error: Unable to allocate resources",
        ),
        ({"rc": 0, "stdout": "no shell", "stderr": ""}, "it said: no shell"),
    ],
)
def test_a_node_that_is_not_given_is_one_sentence(collect, tmp_path, srun, said):
    result, commands = collect(srun=srun)
    assert result["failed"]
    assert result["msg"].startswith("SLURM gives login-1 no node to look at: ")
    assert result["msg"].endswith(
        f"{said}. Fix: mend rekindle_slurm, or see what sinfo says of the partition."
    )
    assert result["msg"].count("Fix: ") == 1
    assert commands[-1] == f"rm -f {MARK}"
    assert not (tmp_path / "host.json").exists()


def test_a_folder_that_the_nodes_do_not_share_is_one_sentence(collect, tmp_path):
    result, commands = collect(mark=1)
    assert result["msg"] == (
        f"{_place(commands)} on login-1 is not the same folder on the nodes of gpu. "
        "Fix: name a folder in rekindle_root that they share."
    )
    assert commands[-1] == f"rm -f {MARK}"
    assert not (tmp_path / "host.json").exists()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"rc": 1, "stdout": "", "stderr": "mktemp: no\n space"},
            "mktemp: no space",
        ),
        ({"rc": 0, "stdout": "\n", "stderr": ""}, "no file is made"),
    ],
)
def test_a_root_that_the_login_node_cannot_write_to_is_one_sentence(collect, answer, said):
    result, commands = collect(mktemp=answer)
    assert result["msg"] == (
        f"{_place(commands)} on login-1 cannot be written to: {said}. "
        "Fix: name a folder in rekindle_root that the user of the host may write to."
    )
    assert len(commands) == 2  # and no node is asked for


def test_what_it_asks_for_is_a_record(collect, tmp_path):
    collect()
    assert read(tmp_path / "host.json", HostRecord).slurm == Slurm(
        partition="gpu", nodes=2, gpus_per_node=2, time="02:00:00", extra=("--exclusive",)
    )


def _place(commands):
    (mktemp,) = [command for command in commands if command.startswith("mktemp ")]
    return shlex.split(mktemp)[1].removesuffix("/.rekindle-XXXXXXXX")


N9 = "gpu*|up|1-00:00:00|1|idle|8|16000|gpu:2|(null)|n9|none\n"
OTHERS = (
    "gpu*|up|1-00:00:00|1|drained|8|16000|gpu:2|(null)|n10|disk|is full\n"
    "gpu*|up|1-00:00:00|2|mixed|64|500000|(null)|amd|m[1-2]|none\n"
    "cpu|up|infinite|2|idle|64|500000|(null)|amd|m[1-2]|none\n"
)


def test_a_node_of_each_kind_that_the_partition_has_is_looked_at(collect, tmp_path):
    result, commands = collect(sinfo=N9 + OTHERS)
    (other,) = [command for command in commands if "--nodelist" in command]
    assert "--nodelist=m1 --immediate=20" in other
    assert "gpus-per-node" not in other
    assert [path.name for path in tmp_path.glob("node-*.json")] == ["node-m1.json"]
    known = read(tmp_path / "login.json", HostRecord).cluster
    assert [(group.partition, group.nodes, group.state, group.why) for group in known.groups] == [
        ("gpu", "n9", "idle", None),
        ("gpu", "n10", "drained", "disk|is full"),
        ("gpu", "m[1-2]", "mixed", None),
        ("cpu", "m[1-2]", "idle", None),
    ]
    assert result["warnings"] == [
        "gpu of login-1 has 2 kinds of nodes, and runs may get any: n9, n10 (8 CPUs, 16000 MiB, gpu:2); "
        "m[1-2] (64 CPUs, 500000 MiB, amd). "
        "Fix: say which by --constraint, --nodelist or --exclude in rekindle_slurm's extra."
    ]
    collect(sinfo=N9)
    assert list(tmp_path.glob("node-*.json")) == []


def test_what_the_cluster_never_gives_is_refused_before_a_node_is_asked_for(collect, tmp_path):
    result, commands = collect(sinfo=N9.replace("1-00:00:00", "1:00:00"))
    assert result["msg"].splitlines() == [
        "gpu of login-1 has 1 nodes, and rekindle_slurm asks for 2. "
        "Fix: ask for nodes: 1, or for another partition.",
        "gpu of login-1 gives no more time than 1:00:00, and rekindle_slurm asks for 02:00:00. "
        "Fix: ask for no more, or for another partition.",
    ]
    assert len(commands) == 1
    assert read(tmp_path / "login.json", HostRecord).cluster
