# SPDX-License-Identifier: Apache-2.0
"""A site's ranks, on one machine or the nodes of a SLURM allocation, by a torchrun that reports its call."""

import json
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from runners.commands import capture_command
from stand_ins.slurm import stand_in

from rekindle.slurm import launch
from rekindle.trainer import Sites

SOURCE = str(Path(__file__).parents[3] / "src")
REPORTS = r"""
import json, os, sys
names = ("CUDA_VISIBLE_DEVICES", "REKINDLE_SITE", "SLURMD_NODENAME", "NCCL_DEBUG", "NCCL_DEBUG_FILE")
names += ("TF_CONFIG", "RANK", "WORLD_SIZE", "GROUP_WORLD_SIZE")
environ = {name: os.environ.get(name) for name in names}
os.write(1, json.dumps({"words": sys.argv[1:], "pid": os.getpid(), **environ}).encode() + b"\n")
"""
STANDALONE = ["--standalone", "--local-addr=localhost", "--nnodes=1"]
SCRIPT = ["custom/client.py", "--sites", "a", "b", "--ranks=7"]
JOB, OTHERS = 4711, ("SLURM_", "CUDA_", "REKINDLE_")


@pytest.fixture
def environ(tmp_path, monkeypatch):
    """Return the variables of a client outside of SLURM."""
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(tmp_path / "evidence"))
    package = tmp_path / "torch" / "distributed"
    package.mkdir(parents=True)
    (package / "run.py").write_text(REPORTS)
    own = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    ours = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE}", "REKINDLE_NONCE": "n0"}
    return {**own, **ours, "REKINDLE_EVIDENCE": "/e"}


@pytest.fixture
def allocation(environ, tmp_path, monkeypatch):
    """Return the variables of a client that runs on the second of two nodes."""
    monkeypatch.setenv("REKINDLE_LAUNCHER", "rekindle.slurm.launch")
    return {**environ, **stand_in(tmp_path / "slurm", "n10", ["n9", "n10"], JOB)}


def _started(command, environ):
    """Start a site as NVFlare does; returns the launcher's PID, and what each process reported."""
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return process.pid, [json.loads(line) for line in out.splitlines()]


def _launch(environ, gpu="[cpu,cpu,cpu,cpu],[cpu,cpu]", site="a"):
    return _started([*shlex.split(Sites(["a", "b"], gpu).torchrun(site)), *SCRIPT], environ)


@pytest.fixture
def replicas(tmp_path):
    """Return what launches a site whose ranks are TensorFlow's replicas, by a trainer that reports."""
    script = tmp_path / "reports.py"
    script.write_text(REPORTS)

    def launch(environ, gpu, site="a"):
        words = [*shlex.split(Sites(["a", "b"], gpu).python(site)), str(script), "--local_epoch=1"]
        return _started(words, environ)

    return launch


def test_replicas_of_one_machine_are_one_process_that_knows_of_no_other(environ, replicas):
    pid, (call,) = replicas(environ, "[0,1],[2,3]")
    assert (call["pid"], call["words"], call["TF_CONFIG"]) == (pid, ["--local_epoch=1"], None)
    assert call["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_replicas_over_nodes_are_a_process_on_each_and_the_clients_is_the_first(allocation, replicas):
    _, calls = replicas(allocation, "[GPU-0,GPU-1,GPU-2,GPU-3],[cpu,cpu]")
    by_node = {call["SLURMD_NODENAME"]: call for call in calls}
    configs = {node: json.loads(call["TF_CONFIG"]) for node, call in by_node.items()}
    (workers,) = {tuple(config["cluster"].pop("worker")) for config in configs.values()}
    assert [worker.partition(":")[0] for worker in workers] == ["n10", "n9"]
    (port,) = {int(worker.partition(":")[2]) for worker in workers}
    assert port in launch._PORTS
    tasks = {node: {"type": "worker", "index": index} for index, node in enumerate(("n10", "n9"))}
    assert configs == {node: {"cluster": {}, "task": task} for node, task in tasks.items()}
    names = ("RANK", "WORLD_SIZE", "GROUP_WORLD_SIZE", "CUDA_VISIBLE_DEVICES")
    ranks = {node: [call[name] for name in names] for node, call in by_node.items()}
    assert ranks == {"n10": ["0", "4", "2", "GPU-0,GPU-1"], "n9": ["2", "4", "2", "GPU-2,GPU-3"]}


def test_sites_over_the_same_nodes_have_their_own_ports(allocation, replicas):
    ports = {replicas(allocation, "[cpu,cpu],[cpu,cpu]", site)[1][0]["TF_CONFIG"] for site in "ab"}
    assert len(ports) == 2


def _options(call):
    words = call["words"]
    assert words[-len(SCRIPT) :] == SCRIPT
    return dict(word[2:].partition("=")[::2] for word in words[: -len(SCRIPT)])


def test_one_machine_has_all_ranks_and_nothing_lies_between(environ):
    pid, (call,) = _launch(environ)
    assert call["words"] == [*STANDALONE, "--nproc-per-node=4", *SCRIPT]
    assert (call["pid"], call["REKINDLE_SITE"], call["CUDA_VISIBLE_DEVICES"]) == (pid, "a", "")


def test_the_clients_node_has_rank_0_wherever_slurm_puts_it(allocation):
    _, calls = _launch(allocation)
    ranks = {call["SLURMD_NODENAME"]: _options(call)["node-rank"] for call in calls}
    assert ranks == {"n10": "0", "n9": "1"}
    for options in map(_options, calls):
        host, port = options["rdzv-endpoint"].split(":")
        assert (host, int(port) in launch._PORTS) == ("n10", True)
        assert (options["nnodes"], options["nproc-per-node"]) == ("2", "2")
        assert (options["rdzv-backend"], options["rdzv-id"]) == ("static", f"{JOB}-0")
    # Ranks on CPU see no GPU that SLURM gave the step, which has one task a node and the run's name.
    assert {(call["CUDA_VISIBLE_DEVICES"], call["NCCL_DEBUG"]) for call in calls} == {("", None)}
    call = Path(allocation["SLURM_STAND_IN"], "calls").read_text().split(sys.executable)[0].split()
    assert call == [
        *("--overlap", "--export=ALL", "--input=none", "--wait=0", "--ntasks-per-node=1"),
        *("--nodes=2", "--ntasks=2", "--job-name=rekindle-n0", "--kill-on-bad-exit=1", "--cpu-bind=none"),
    ]


def test_each_node_sees_its_own_gpus_in_the_order_of_ranks(allocation):
    _, calls = _launch(allocation, "[GPU-0,GPU-1,GPU-2,GPU-3],[cpu,cpu]")
    seen = {call["SLURMD_NODENAME"]: call["CUDA_VISIBLE_DEVICES"] for call in calls}
    assert seen == {"n10": "GPU-0,GPU-1", "n9": "GPU-2,GPU-3"}
    assert {call["NCCL_DEBUG_FILE"] for call in calls} == {"/e/a.nccl-%h-%p.log"}
    assert {call["NCCL_DEBUG"] for call in calls} == {"INFO"}


def test_ports_of_sites_and_of_jobs_after_each_other_are_different():
    ports = {launch._port(job, site) for job in range(JOB, JOB + 20) for site in range(8)}
    assert len(ports) == 160
    assert ports <= set(launch._PORTS)


def test_a_port_that_is_held_is_passed_over():
    port = launch._port(JOB, 0)
    with socket.create_server(("", port)):
        assert launch._port(JOB, 0) not in {port, launch._port(JOB, 1)}


@pytest.mark.parametrize(
    ("gpu", "changes", "message"),
    [
        ("[cpu,cpu,cpu],[cpu]", {}, "a has 3 ranks and 0 GPUs on 2 nodes. Fix: give it as many ranks on"),
        ("[0,cpu],[cpu]", {}, "a has 2 ranks and 1 GPUs on 2 nodes. Fix: "),
        ("[0,1],[cpu]", {"PATH": "/nowhere"}, "scontrol does not list the job's nodes: "),
    ],
)
def test_what_cannot_be_spread_over_the_nodes_is_one_sentence(allocation, gpu, changes, message):
    command = [*shlex.split(Sites(["a", "b"], gpu).torchrun("a"))[1:], *SCRIPT]
    env = {**allocation, **changes, **dict(word.split("=", 1) for word in command[:2])}
    done = capture_command(command[2:], env=env, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert len(done.stderr.splitlines()) == 1


def test_srun_has_to_end_before_nvflare_kills_it(environ, monkeypatch):
    monkeypatch.delenv("REKINDLE_LAUNCHER", raising=False)
    assert Sites(["a"], "[cpu]").shutdown_timeout == 10.0
    monkeypatch.setenv("REKINDLE_LAUNCHER", "rekindle.slurm.launch")
    assert Sites(["a"], "[cpu]").shutdown_timeout == 3.0


@pytest.mark.parametrize(
    ("variables", "node"), [({"SLURMD_NODENAME": "n10"}, "n10"), ({}, socket.gethostname())]
)
def test_a_rank_records_its_node(environ, tmp_path, variables, node):
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    code = "from rekindle.trainer import Evidence; Evidence().device('cpu', uuid=None, name='', backend='')"
    variables = {**environ, "REKINDLE_EVIDENCE": str(evidence), "REKINDLE_SITE": "a", **variables}
    subprocess.run([sys.executable, "-c", code], env=variables, check=True, timeout=60)
    assert json.loads((evidence / "a.rank-0.jsonl").read_text())["node"] == node


def test_a_rank_that_fails_ends_the_step_on_all_nodes(allocation, tmp_path):
    fails = "import os, sys, time\nos.environ['SLURMD_NODENAME'] == 'n9' and sys.exit(3)\ntime.sleep(600)\n"
    (tmp_path / "torch" / "distributed" / "run.py").write_text(fails)
    command = [*shlex.split(Sites(["a"], "[cpu,cpu]").torchrun("a")), *SCRIPT]
    assert subprocess.run(command, env=allocation, check=False, timeout=60).returncode == 3


def test_nodes_whose_output_is_mixed_give_whole_characters(allocation, tmp_path):
    bar = "100%|███|".encode()
    pieces = [bar[:7], b"\rLoading: " + bar, b"\rcaf\xe9\n"]
    (tmp_path / "torch" / "distributed" / "run.py").write_text(
        f"import os\nif os.environ['SLURMD_NODENAME'] == 'n10': os.writev(2, {pieces!r})"
    )
    words = [*shlex.split(Sites(["a", "b"], "[cpu,cpu,cpu,cpu],[cpu,cpu]").torchrun("a")), *SCRIPT]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(words, env=allocation, **streams, timeout=60, check=True)
    assert done.stdout.decode() == "100%|\ufffd\rLoading: 100%|███|\rcaf\ufffd\n"
