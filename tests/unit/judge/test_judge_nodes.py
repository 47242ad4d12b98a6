# SPDX-License-Identifier: Apache-2.0
"""Runs over two nodes: recorded ones of one machine, as their files would be with a node for each rank."""

import shutil

import pytest
from samples.edits import each_event, edit, json_in, lines_in, put_lines, removed, replaced, result_of

from rekindle.judge import judge_run

NODES = ("n9", "n10")
GPUS = ("GPU-7adef50f-fa15-354c-8f53-edca705c6a63", "GPU-6064da05-6d44-3068-e734-909a66432dfa")
"""Of ranks 0 and of ranks 1."""


def _spread(run):
    """Have every rank 1 be the first of its site on n10, and each node's samples in a file of its own."""
    with json_in(run / "spec.json") as spec:
        spec["job"]["ranks_per_site"] = 1
        spec["nodes"] = NODES
    for rank, node in enumerate(NODES):
        for path in sorted(run.glob(f"evidence/*.rank-{rank}.jsonl")):
            device, *rounds = lines_in(path)
            alone = {"device": device["device"].replace("1", "0"), "node": node}
            put_lines(path, [{**device, **alone}, *rounds])
        samples = lines_in(run / "samples.jsonl")
        for sample in samples:
            sample["gpus"] = {uuid: gpu for uuid, gpu in sample["gpus"].items() if uuid == GPUS[rank]}
            sample["memory_mib"] = {} if rank else sample["memory_mib"]
        put_lines(run / f"samples-{node}.jsonl", samples)
    (run / "samples.jsonl").unlink()
    return run


@pytest.fixture
def on_cpu(clean_run):
    """Return a run over two nodes without GPUs."""
    return _spread(clean_run)


@pytest.fixture
def on_gpus(recordings, tmp_path):
    """Return a run over two nodes with a GPU each, which both sites share; NCCL has TCP alone."""
    run = _spread(shutil.copytree(recordings / "runs/pt_ddp-h100-x2", tmp_path / "gpu"))
    for rank, node in enumerate(NODES):
        for site in (1, 2):
            log = run / f"evidence/site-{site}.nccl-{node}-{site}.log"
            shutil.copy(recordings / f"nccl-two-hosts.rank-{rank}.log", log)
    return run


@pytest.fixture
def of_replicas(recordings, tmp_path):
    """Return a run of TensorFlow's over two nodes, whose site's replicas are a process on each."""
    run = _spread(shutil.copytree(recordings / "runs/tf_mirrored-cpu-2", tmp_path / "tf"))
    edit(run / "spec.json", '"ReductionToOneDevice"', '"RING"')
    with json_in(run / "spec.json") as spec:  # its logs are of one machine
        spec["job"]["proof"] = [each for each in spec["job"]["proof"] if each["claim"] != "site_logs_show"]
    for path in run.glob("evidence/*.rank-*.jsonl"):
        edit(path, '"ReductionToOneDevice"', '"RING"')
    for site, path in enumerate(sorted(run.glob("evidence/*.rank-1.jsonl"))):
        edit(path, r'"pid": \d+', f'"pid": {4000 + site}')
    return run


def _answers(run):
    """Return the verdict, and the message of each check that does not hold."""
    verdict = judge_run(run)
    return verdict.verdict, {
        result.claim: result.message for result in verdict.evidence if result.state in ("fails", "unknown")
    }


def test_a_run_whose_nodes_all_had_their_ranks_passes(on_cpu, on_gpus):
    assert _answers(on_cpu) == ("PASS", {})
    assert _answers(on_gpus) == ("PASS", {})


def test_tensorflows_replicas_are_a_process_on_each_node(of_replicas):
    assert _answers(of_replicas) == ("PASS", {})
    assert _result(of_replicas, CROSSED)[1] == "Ranks crossed the network by gRPC, over TCP."
    first = of_replicas / "evidence/site-1.rank-0.jsonl"
    edit(first, '"node": "n9"', '"node": "n10"')
    edit(first, r'"pid": \d+', '"pid": 4000')
    assert _answers(of_replicas)[1]["every_site_worked"] == "2 ranks of site-1 ran in 1 processes."


def cut_after(share):
    """Return what leaves the first samples of the second node alone."""

    def change(run):
        samples = lines_in(run / SECOND)
        put_lines(run / SECOND, samples[: int(len(samples) * share)])

    return change


def one_machine(run):
    """Make two nodes of the one on which it ran."""
    for rank, node in enumerate(NODES):
        edit(run / f"evidence/site-1.rank-{rank}.jsonl", '"backend"', f'"node": "{node}", "backend"')
        edit(run / f"evidence/site-2.rank-{rank}.jsonl", '"backend"', '"node": "n9", "backend"')


def longer(run):
    """Have the run end a minute later."""
    with json_in(run / "ended.json") as ended:
        ended["duration_s"] += 60


def lose(run):
    """Have the second node's GPU be lost, though the first was sampled later."""
    samples = lines_in(run / SECOND)[:-1]
    samples[-1].update(gpus={}, unanswered={GPUS[1]: []})
    put_lines(run / SECOND, samples)


def idle(sample):
    for gpu in sample["gpus"].values():
        gpu.update(utilisation=0, process_utilisation=dict.fromkeys(gpu["process_utilisation"] or {}, 0))


FIRST, SECOND, RANK = "samples-n9.jsonl", "samples-n10.jsonl", "evidence/site-2.rank-1.jsonl"
FAILS, UNPROVEN, SAMPLED, ON_NODES = "FAIL", "UNPROVEN", "sampled_all_along", "ranks_on_their_nodes"
ALONE = {
    "a rank on another node than its own": ("on_cpu", replaced(RANK, '"n10"', '"n9"'), FAILS, ON_NODES),
    "ranks of one machine that report two": ("clean_run", one_machine, UNPROVEN, ON_NODES),
    "a node without samples": ("on_cpu", removed(SECOND), UNPROVEN, SAMPLED),
    "samples of one node that end early": ("on_cpu", cut_after(1 / 3), UNPROVEN, SAMPLED),
    "a run that took longer than its samples": ("on_cpu", longer, UNPROVEN, SAMPLED),
    "a lost GPU": ("on_gpus", lose, UNPROVEN, "no_gpu_errors"),
}
"""What breaks no other check."""
BROKEN = {
    **ALONE,
    "an unknown node": ("on_cpu", replaced(RANK, '"node": "n10"', '"node": null'), UNPROVEN, ON_NODES),
    "no report": ("on_cpu", replaced(RANK, r"\{\"event\": \"device\".*\n"), UNPROVEN, ON_NODES),
    "another node's GPU": ("on_gpus", lambda run: shutil.copy(run / FIRST, run / SECOND), UNPROVEN, SAMPLED),
    "an Xid": ("on_gpus", replaced(SECOND, '"xids": \\[\\]', '"xids": [79]', 1), UNPROVEN, "no_gpu_errors"),
    "an idle GPU": ("on_gpus", each_event(SECOND, idle), FAILS, "gpus_used"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_on_one_node_is_no_pass(golden, request, name):
    fixture, change, verdict, check = BROKEN[name]
    run = request.getfixturevalue(fixture)
    change(run)
    found, broken = _answers(run)
    assert found == verdict
    assert broken.keys() == {check} if name in ALONE else check in broken
    golden(broken[check])


def test_processes_of_two_nodes_may_have_one_pid_and_those_of_one_node_not(on_cpu):
    pids = [lines_in(on_cpu / f"evidence/site-{site}.rank-0.jsonl")[0]["pid"] for site in (1, 2)]
    edit(on_cpu / "evidence/site-2.rank-1.jsonl", r'"pid": \d+', f'"pid": {pids[0]}')
    assert _answers(on_cpu) == ("PASS", {})
    edit(on_cpu / "evidence/site-2.rank-0.jsonl", r'"pid": \d+', f'"pid": {pids[0]}')
    message = f"site-2 and site-1 both ran in process {pids[0]}."
    assert _answers(on_cpu) == ("UNPROVEN", {"every_site_worked": message})


def _result(run, claim):
    """Return the state of a check, its message and its file."""
    result = result_of(judge_run(run), claim)
    return result.state, result.message, result.file


def test_the_network_that_ranks_crossed_is_reported(on_cpu, on_gpus):
    by = "Ranks crossed the network by {}, over TCP.".format
    assert _result(on_cpu, CROSSED) == ("holds", by("gloo"), "evidence/site-1.rank-1.jsonl")
    assert _result(on_gpus, CROSSED) == ("holds", by("NCCL"), "evidence/site-1.nccl-n10-1.log")


CROSSED, PACE = "ranks_crossed_the_network", "nodes_keep_pace"
USING = r"NET/IB : Using \[RO\]"


@pytest.mark.parametrize(
    ("devices", "via", "message"),
    [
        ("[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]", "IB/1/GDRDMA", "InfiniBand with GPUDirect RDMA"),
        ("[0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE [RO]", "IBext/1", "RoCE without GPUDirect RDMA"),
        ("[0]ena:1/IB [RO]", "AWS Libfabric/0/GDRDMA", "AWS Libfabric with GPUDirect RDMA"),
    ],
)
def test_the_network_has_the_name_that_nccl_gives_its_card(on_gpus, devices, via, message):
    for path in on_gpus.glob("evidence/*.nccl-*.log"):
        edit(path, USING, f"NET/IB : Using {devices}")
        edit(path, "NET/Socket/0", f"NET/{via}")
    assert _result(on_gpus, CROSSED)[:2] == ("holds", f"Ranks crossed the network by NCCL, over {message}.")


def test_a_run_without_nccls_report_proves_nothing(on_gpus):
    for path in on_gpus.glob("evidence/site-2.nccl-*.log"):
        edit(path, r"\[(send|receive)\] via NET/Socket/0", "via P2P/CUMEM")
    message = "NCCL does not report how the ranks of site-2 crossed the network."
    assert _answers(on_gpus) == ("UNPROVEN", {CROSSED: message})


def _computes(run, *seconds):
    """Have the ranks of each node compute for these shares of their rounds."""
    for rank, share in enumerate(seconds):
        for path in run.glob(f"evidence/*.rank-{rank}.jsonl"):
            device, *rounds = lines_in(path)
            put_lines(path, [device, *({**event, "forward_s": event["seconds"] * share} for event in rounds)])


def test_a_node_that_straggles_is_named_and_is_no_fault(on_cpu):
    _computes(on_cpu, 0.2, 0.8)
    assert _answers(on_cpu) == ("PASS", {})
    state, message, _ = _result(on_cpu, PACE)
    assert state == "holds"
    assert message.startswith("n10 straggles: its ranks took ")
    assert ", where n9 took " in message


@pytest.mark.parametrize("shares", [(0.2, 0.25), (0.01, 0.04), (0.5,)])
def test_nodes_that_take_about_as_long_do_not_straggle(on_cpu, shares):
    _computes(on_cpu, *shares)
    assert "straggles" not in _result(on_cpu, PACE)[1]
