"""Runs over two nodes: recorded ones of one machine, as their files would be with a node for each rank."""

import json
import shutil

import pytest
from recorded_edits import edit, json_in, result_of

from rekindle.judge import judge

NODES = ("n9", "n10")
GPUS = ("GPU-4956b4a0-1fda-6ceb-9afb-340e1e05cea3", "GPU-44d39613-67b5-6fd9-af20-2564c47eeb19")
"""Of ranks 0 and of ranks 1."""


def _lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def _write(path, lines):
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def _spread(run):
    """Have every rank 1 be the first of its site on n10, and each node's samples in a file of its own."""
    with json_in(run / "spec.json") as spec:
        spec["job"]["ranks_per_site"] = 1
        spec["nodes"] = NODES
    for rank, node in enumerate(NODES):
        for path in sorted(run.glob(f"evidence/*.rank-{rank}.jsonl")):
            device, *rounds = _lines(path)
            alone = {"local_rank": 0, "device": device["device"].replace("1", "0"), "node": node}
            _write(path, [{**device, **alone}, *rounds])
        samples = _lines(run / "samples.jsonl")
        for sample in samples:
            sample["gpus"] = {uuid: gpu for uuid, gpu in sample["gpus"].items() if uuid == GPUS[rank]}
            sample["memory_mib"] = {} if rank else sample["memory_mib"]
        _write(run / f"samples-{node}.jsonl", samples)
    (run / "samples.jsonl").unlink()
    return run


@pytest.fixture
def on_cpu(clean_run):
    """Return a run over two nodes without GPUs."""
    return _spread(clean_run)


@pytest.fixture
def on_gpus(recordings, tmp_path):
    """Return a run over two nodes with a GPU each, which both sites share; NCCL has TCP alone."""
    run = _spread(shutil.copytree(recordings / "runs/pt_ddp-h200-x2-2", tmp_path / "gpu"))
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
    for path in run.glob("evidence/*.rank-*.jsonl"):
        edit(path, '"ReductionToOneDevice"', '"RING"')
    for site, path in enumerate(sorted(run.glob("evidence/*.rank-1.jsonl"))):
        edit(path, r'"pid": \d+', f'"pid": {4000 + site}')
    return run


def _answers(run):
    """Return the verdict, and the message of each check that does not hold."""
    verdict = judge(run)
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
    assert _answers(of_replicas)[1]["processes_are_distinct"] == "2 ranks of site-1 ran in 1 processes."


def test_a_rank_on_another_node_than_its_own_fails(on_cpu):
    edit(on_cpu / "evidence/site-2.rank-1.jsonl", '"node": "n10"', '"node": "n9"')
    verdict, broken = _answers(on_cpu)
    assert (verdict, broken) == ("FAIL", {"ranks_on_their_nodes": "site-2 rank 1 ran on n9, and not on n10."})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"node": "n10"', '"node": null', "site-2 rank 1 ran on an unknown node, and not on n10."),
        (r"\{\"event\": \"device\".*\n", "", "site-2 rank 1 did not report that it ran on n10."),
    ],
)
def test_a_rank_on_an_unknown_node_proves_nothing(on_cpu, old, new, message):
    edit(on_cpu / "evidence/site-2.rank-1.jsonl", old, new)
    verdict, broken = _answers(on_cpu)
    assert (verdict, broken["ranks_on_their_nodes"]) == ("UNPROVEN", message)


def test_ranks_of_one_machine_that_report_two_prove_nothing(clean_run):
    for rank, node in enumerate(NODES):
        edit(clean_run / f"evidence/site-1.rank-{rank}.jsonl", '"backend"', f'"node": "{node}", "backend"')
        edit(clean_run / f"evidence/site-2.rank-{rank}.jsonl", '"backend"', '"node": "n9", "backend"')
    message = "site-1 rank 1 ran on n10; others on n9."
    assert _answers(clean_run) == ("UNPROVEN", {"ranks_on_their_nodes": message})


def test_a_node_without_samples_proves_nothing(on_cpu):
    (on_cpu / "samples-n10.jsonl").unlink()
    assert _answers(on_cpu) == ("UNPROVEN", {"sampled_all_along": "The driver took no samples of n10."})


def test_samples_of_one_node_that_end_early_prove_nothing(on_cpu):
    samples = _lines(on_cpu / "samples-n10.jsonl")
    _write(on_cpu / "samples-n10.jsonl", samples[: len(samples) // 3])
    message = "The samples of n10 do not reach from before the first round to after the last."
    assert _answers(on_cpu) == ("UNPROVEN", {"sampled_all_along": message})


def test_a_sample_of_another_nodes_gpu_proves_nothing(on_gpus):
    shutil.copy(on_gpus / "samples-n9.jsonl", on_gpus / "samples-n10.jsonl")
    verdict, broken = _answers(on_gpus)
    assert verdict == "UNPROVEN"
    assert broken["sampled_all_along"] == f"A sample lacks {GPUS[1]}."


def test_a_gpu_of_the_second_node_that_is_lost_is_named_though_the_first_was_sampled_later(on_gpus):
    samples = _lines(on_gpus / "samples-n10.jsonl")[:-1]
    samples[-1].update(gpus={}, unanswered={GPUS[1]: []})
    _write(on_gpus / "samples-n10.jsonl", samples)
    message = f"{GPUS[1]} did not answer NVML at the last sample."
    assert _answers(on_gpus) == ("UNPROVEN", {"no_gpu_errors": message})


def test_an_xid_on_the_second_node_is_named(on_gpus):
    edit(on_gpus / "samples-n10.jsonl", '"xids": \\[\\]', '"xids": [79]', count=1)
    verdict, broken = _answers(on_gpus)
    assert verdict == "UNPROVEN"
    assert broken["no_gpu_errors"].startswith(f"{GPUS[1]} met Xid 79 (GPU has fallen off the bus")


def test_an_idle_gpu_of_the_second_node_fails(on_gpus):
    samples = _lines(on_gpus / "samples-n10.jsonl")
    for gpu in (gpu for sample in samples for gpu in sample["gpus"].values()):
        gpu.update(utilisation=0, process_utilisation=dict.fromkeys(gpu["process_utilisation"] or {}, 0))
    _write(on_gpus / "samples-n10.jsonl", samples)
    verdict, broken = _answers(on_gpus)
    assert verdict == "FAIL"
    assert broken["gpus_used"].startswith(f"{GPUS[1]} peaked at 0 %")


def test_processes_of_two_nodes_may_have_one_pid_and_those_of_one_node_not(on_cpu):
    pids = [_lines(on_cpu / f"evidence/site-{site}.rank-0.jsonl")[0]["pid"] for site in (1, 2)]
    edit(on_cpu / "evidence/site-2.rank-1.jsonl", r'"pid": \d+', f'"pid": {pids[0]}')
    assert _answers(on_cpu) == ("PASS", {})
    edit(on_cpu / "evidence/site-2.rank-0.jsonl", r'"pid": \d+', f'"pid": {pids[0]}')
    message = f"site-2 and site-1 both ran in process {pids[0]}."
    assert _answers(on_cpu) == ("UNPROVEN", {"processes_are_distinct": message})


def _result(run, claim):
    """Return whether a check holds, its message and its file."""
    result = result_of(judge(run), claim)
    return result.holds, result.message, result.file


def test_the_network_that_ranks_crossed_is_reported(on_cpu, on_gpus):
    assert _result(on_cpu, CROSSED) == (
        True,
        "Ranks crossed the network by gloo, over TCP.",
        "evidence/site-1.rank-1.jsonl",
    )
    assert _result(on_gpus, CROSSED) == (
        True,
        "Ranks crossed the network by NCCL, over TCP.",
        "evidence/site-1.nccl-n10-1.log",
    )


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
    assert _result(on_gpus, CROSSED)[:2] == (True, f"Ranks crossed the network by NCCL, over {message}.")


def test_a_run_without_nccls_report_proves_nothing(on_gpus):
    for path in on_gpus.glob("evidence/site-2.nccl-*.log"):
        edit(path, r"\[(send|receive)\] via NET/Socket/0", "via P2P/CUMEM")
    message = "NCCL does not report how the ranks of site-2 crossed the network."
    assert _answers(on_gpus) == ("UNPROVEN", {CROSSED: message})


def _computes(run, *seconds):
    """Have the ranks of each node compute for these shares of their rounds."""
    for rank, share in enumerate(seconds):
        for path in run.glob(f"evidence/*.rank-{rank}.jsonl"):
            device, *rounds = _lines(path)
            _write(path, [device, *({**event, "forward_s": event["seconds"] * share} for event in rounds)])


def test_a_node_that_straggles_is_named_and_is_no_fault(on_cpu):
    _computes(on_cpu, 0.2, 0.8)
    assert _answers(on_cpu) == ("PASS", {})
    holds, message, _ = _result(on_cpu, PACE)
    assert holds
    assert message.startswith("n10 straggles: its ranks took ")
    assert ", where n9 took " in message


@pytest.mark.parametrize("shares", [(0.2, 0.25), (0.01, 0.04), (0.5,)])
def test_nodes_that_take_about_as_long_do_not_straggle(on_cpu, shares):
    _computes(on_cpu, *shares)
    assert "straggles" not in _result(on_cpu, PACE)[1]
