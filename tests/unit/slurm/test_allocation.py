# SPDX-License-Identifier: Apache-2.0
"""A run's SLURM allocation: this node first, and GPUs in the places of those that were seen."""

import shlex
import socket
from itertools import count
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from rekindle.driver.places import PlaceError, find_place
from rekindle.federation import place as module
from rekindle.federation.records import Participant, make_member
from rekindle.records import Allocation, GivenGpu, RunSpec, Site, read_record


@pytest.fixture
def allocation(queue, monkeypatch):
    """Put this process on node n9 of n10 and n9, which SLURM sorts by name."""
    monkeypatch.setenv("SLURMD_NODENAME", "n9")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[9-10]")
    queue.set("scontrol", "n10\nn9\n")
    return queue


@pytest.fixture
def spec(recordings):
    """Return what a run on two nodes was sent with, of a node with two GPUs."""
    recorded = read_record(recordings / "runs/pt_ddp-h100-x2/spec.json", RunSpec)
    sites = (Site(name="site-1", ranks=2, gpus=("seen-b",)), Site(name="site-2", ranks=2, gpus=("seen-a",)))
    gpus = tuple(GivenGpu(uuid=uuid, index=0, name="H200", memory_mib=1) for uuid in ("seen-a", "seen-b"))
    slurm = Allocation(room="slurm", partition="gpu", nodes=2, gpus_per_node=2, time="01:00:00")
    return replace(recorded, sites=sites, gpus=gpus, allocation=slurm)


def gives(queue, **uuids):
    """Have nvidia-smi of n9, which is here, and of n10, by srun, list these GPUs; H200s, or A100 in name."""
    for command, node in (("nvidia-smi", "n9"), ("srun", "n10")):
        names = {uuid: "A100" if "A100" in uuid else "H200" for uuid in uuids[node].split()}
        queue.set(command, "".join(f"{uuid}, {name}\n" for uuid, name in names.items()))


def allocated(run, spec):
    """Return the spec of a run once its place has what it was given."""
    place = find_place(run, spec)
    place.allocate()
    return place.spec


def on_cpu(spec):
    sites = tuple(replace(site, gpus=()) for site in spec.sites)
    return replace(spec, sites=sites, gpus=())


def test_a_run_that_asks_slurm_for_nothing_is_as_it_was_sent(tmp_path, spec, queue):
    alone = replace(spec, allocation=None)
    assert allocated(tmp_path, alone) is alone
    assert queue.asked("scontrol") == list(tmp_path.glob("*.json")) == []


def test_the_first_node_is_this_one_and_the_spec_records_it(tmp_path, spec, allocation):
    given = allocated(tmp_path, on_cpu(spec))
    assert given == replace(on_cpu(spec), nodes=("n9", "n10"))
    assert read_record(tmp_path / "spec.json", RunSpec) == given
    assert allocation.asked("scontrol") == ["show hostnames n[9-10]"]


TOO_LITTLE = {
    "nodes": ("n9\n", ""),
    "GPUs": ("n10\nn9\n", "10-a"),
    "kind": ("n10\nn9\n", "10-a 10-A100"),
}


@pytest.mark.parametrize("what", TOO_LITTLE)
def test_too_little_is_one_sentence(golden, tmp_path, spec, allocation, what):
    nodes, gpus = TOO_LITTLE[what]
    allocation.set("scontrol", nodes)
    gives(allocation, n9="9-a 9-b", n10=gpus)
    with pytest.raises(PlaceError) as refused:
        allocated(tmp_path, spec)
    golden(str(refused.value))
    assert not (tmp_path / "spec.json").exists()


def test_each_node_s_gpus_stand_where_those_that_were_seen_did(tmp_path, spec, allocation):
    gives(allocation, n9="9-b 9-a", n10="10-b 10-a 10-c")
    given = allocated(tmp_path, spec)
    assert [site.gpus for site in given.sites] == [("9-b", "10-b"), ("9-a", "10-a")]
    assert sorted(gpu.uuid for gpu in given.gpus) == ["10-a", "10-b", "9-a", "9-b"]
    assert (given.gpus_on("n9"), given.gpus_on("n10")) == ({"9-a", "9-b"}, {"10-a", "10-b"})
    (step,) = allocation.asked("srun")
    assert shlex.split(step)[:4] == ["--overlap", "--nodes=1", "--ntasks=1", "--nodelist=n10"]


def test_an_scontrol_that_does_not_answer_is_one_sentence(tmp_path, spec, allocation, monkeypatch):
    allocation.set("scontrol", errors="slurm_load_jobs error", status=1)
    with pytest.raises(PlaceError, match=r"^scontrol does not list the job's nodes: "):
        allocated(tmp_path, spec)
    allocation.put("scontrol", "#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr("rekindle.slurm.steps._LIMIT_S", 0.2)
    with pytest.raises(PlaceError, match=r"^scontrol does not list .* timed out"):
        allocated(tmp_path, spec)


@pytest.fixture
def site(spec):
    """Return what the login node is sent as a site of a federation, beside another host."""
    mine = Participant(role="site", kit="/kit", address="127.0.0.1", port=8002, sites=("gpu", "b"))
    sites = (
        Site(name="gpu", ranks=2, gpus=("seen-b", "seen-a"), node="gpu"),
        Site(name="b", ranks=1, gpus=("of-b",), node="b"),
    )
    slurm = replace(spec.allocation, nodes=1)
    return replace(spec, host="gpu", sites=sites, allocation=slurm, member=make_member("gpu", 2, mine))


def test_a_federation_s_site_has_its_node_s_gpus_and_others_keep_theirs(tmp_path, site, allocation):
    allocation.set("scontrol", "n9\n")
    gives(allocation, n9="9-a 9-b", n10="")
    given = allocated(tmp_path, site)
    assert [site.gpus for site in given.sites] == [("9-b", "9-a"), ("of-b",)]
    assert (given.nodes, given.gpus_on(given.here)) == ((), {"9-a", "9-b"})


def at_port(spec, port):
    """Return a site's spec with another port of its server's."""
    mine = replace(spec.member, given={**spec.member.given, "port": port})
    return replace(spec, member=mine)


def prepare(run, spec, report=lambda seconds, text: None):
    """Prepare a run whose environment is there."""
    find_place(run, spec).prepare(SimpleNamespace(report=report))


def test_a_site_keeps_its_node_until_the_server_listens(tmp_path, site, monkeypatch):
    monkeypatch.setattr(module.time, "sleep", lambda seconds: server.listen())
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        said = []
        spec = at_port(site, server.getsockname()[1])
        prepare(tmp_path, spec, lambda seconds, text: said.append(text))
    assert len(said) == 1
    prepare(tmp_path, replace(site, allocation=None))
    prepare(tmp_path, replace(site, member=None))


def test_a_server_that_never_listens_is_one_sentence(golden, tmp_path, site, monkeypatch):
    clock = count(0, 60)
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    short = replace(site.job, limit_s=600)
    with pytest.raises(PlaceError) as refused:
        prepare(tmp_path, replace(at_port(site, 1), job=short))
    golden(str(refused.value))
