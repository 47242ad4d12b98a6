# SPDX-License-Identifier: Apache-2.0
"""Placement: who gets which GPU."""

import pytest
from msgspec.structs import replace
from samples.hosts import H100
from samples.hosts import host as found_host

from rekindle.host import paths
from rekindle.jobs import load_job
from rekindle.jobs.placement import PlacementError, assign_gpus
from rekindle.records import Allocation, Example

JOB = load_job(paths.JOBS, "pt_ddp")


def _job(sites=2, ranks=2, short="share"):
    return replace(JOB, name="job", sites=sites, ranks_per_site=ranks, when_short_of_gpus=short)


def _host(gpus, topology=()):
    found = found_host(*[H100] * gpus)
    with_uuids = tuple(replace(gpu, uuid=f"GPU-{gpu.index}") for gpu in found.gpus)
    return replace(found, host="h", gpus=with_uuids, topology=topology)


def _gpus(sites):
    return [site.gpus for site in sites]


def test_without_gpus_every_site_runs_all_its_ranks_on_cpu():
    sites = [(site.name, site.ranks, site.gpus) for site in assign_gpus(_job(), _host(0))]
    assert sites == [("site-1", 2, ()), ("site-2", 2, ())]


@pytest.mark.parametrize("unusable", [{"mig": True}, {"state": "lost", "message": "GPU is lost"}])
def test_a_gpu_in_mig_mode_or_lost_gets_no_site(unusable):
    host = _host(3)
    host = replace(host, gpus=(host.gpus[0], replace(host.gpus[1], **unusable), host.gpus[2]))
    assert _gpus(assign_gpus(_job(ranks=1), host)) == [("GPU-0",), ("GPU-2",)]


def test_sites_go_to_the_gpus_that_are_linked():
    topology = (
        ("X", "SYS", "NV4", "SYS"),
        ("SYS", "X", "SYS", "NV4"),
        ("NV4", "SYS", "X", "SYS"),
        ("SYS", "NV4", "SYS", "X"),
    )
    assert _gpus(assign_gpus(_job(), _host(4, topology))) == [("GPU-0", "GPU-2"), ("GPU-1", "GPU-3")]


@pytest.mark.parametrize(
    ("short", "gpus", "expected"),
    [
        ("share", 1, [("GPU-0",), ("GPU-0",)]),
        ("share", 2, [("GPU-0", "GPU-1"), ("GPU-0", "GPU-1")]),
        ("share", 3, [("GPU-0", "GPU-1"), ("GPU-2", "GPU-0")]),
        ("fewer", 2, [("GPU-0",), ("GPU-1",)]),
        ("fewer", 3, [("GPU-0",), ("GPU-1",)]),
        ("fewer", 4, [("GPU-0", "GPU-1"), ("GPU-2", "GPU-3")]),
    ],
)
def test_sites_share_or_get_fewer_and_never_two_ranks_of_a_site_on_one(short, gpus, expected):
    assert _gpus(assign_gpus(_job(short=short), _host(gpus))) == expected


@pytest.mark.parametrize(
    ("short", "gpus", "message"),
    [
        ("fewer", 1, r"needs 2 GPUs \(2 sites × 1\) and h has 1: 1 missing. Fix:"),
        ("unsupported", 3, r"needs 4 GPUs \(2 sites × 2\) and h has 3: 1 missing. Fix:"),
    ],
)
def test_a_job_that_does_not_allow_so_few_reports_how_many_are_missing(short, gpus, message):
    with pytest.raises(PlacementError, match=message):
        assign_gpus(_job(short=short), _host(gpus))


def test_an_example_that_takes_its_gpus_gets_them_site_by_site():
    example = Example(folder="advanced/llm_hf", command=("job.py", "--gpu", "{gpus}"))
    job = replace(_job(), example=example)
    assert _gpus(assign_gpus(job, _host(4))) == [("GPU-0", "GPU-1"), ("GPU-2", "GPU-3")]
    assert _gpus(assign_gpus(job, _host(2))) == [("GPU-0", "GPU-1")] * 2
    assert _gpus(assign_gpus(job, _host(1))) == [("GPU-0",)] * 2


def test_an_example_that_cannot_do_without_gpus_is_unplaceable_on_fewer():
    example = Example(folder="advanced/multi-gpu/pt", command=("job.py",), gpus=2)
    job = replace(_job(), example=example)
    assert _gpus(assign_gpus(job, _host(4))) == [("GPU-0", "GPU-1")] * 2
    for count, count_text in ((1, "has 1"), (0, "has none")):
        with pytest.raises(PlacementError, match=f"needs 2 GPUs and .* {count_text}"):
            assign_gpus(job, _host(count))


def test_over_several_nodes_a_site_has_its_ranks_on_each_and_the_gpus_of_the_one_that_was_seen():
    slurm = Allocation(room="slurm", partition="gpu", nodes=3, time="01:00:00")
    seen = {count: replace(_host(count), allocation=slurm) for count in (0, 4)}
    ranks = {count: [site.ranks for site in assign_gpus(_job(), host)] for count, host in seen.items()}
    assert ranks == {0: [6, 6], 4: [6, 6]}
    replicas = replace(_job(), environment="tensorflow")
    assert [site.ranks for site in assign_gpus(replicas, seen[0])] == [3, 3]  # a CPU has one
    assert [site.ranks for site in assign_gpus(replicas, seen[4])] == [6, 6]
    assert [site.ranks for site in assign_gpus(replicas, _host(0))] == [2, 2]
    assert _gpus(assign_gpus(_job(), seen[4])) == [("GPU-0", "GPU-1"), ("GPU-2", "GPU-3")]


def _cut(instances):
    found = _host(1)
    parts = (replace(found.gpus[0], uuid=f"MIG-{n}") for n in range(instances))
    return replace(found, gpus=tuple(parts))


@pytest.mark.parametrize(
    ("short", "instances", "expected"),
    [
        ("share", 7, [("MIG-0",), ("MIG-1",)]),
        ("fewer", 2, [("MIG-0",), ("MIG-1",)]),
        ("turns", 1, [("MIG-0",), ("MIG-0",)]),
    ],
)
def test_a_site_has_one_rank_on_a_mig_instance(short, instances, expected):
    sites = assign_gpus(_job(short=short), _cut(instances))
    assert (_gpus(sites), [site.ranks for site in sites]) == (expected, [1, 1])
    measured = load_job(paths.JOBS, "acceptance")
    assert assign_gpus(measured, _cut(instances))[0].ranks == instances


@pytest.mark.parametrize("command", [("job.py", "--gpu", "{devices}"), ("job.py", "--gpu", "{gpus}")])
def test_a_job_that_mig_instances_do_not_fit_is_refused(golden, command):
    short = "unsupported" if "{devices}" in command else "fewer"
    job = replace(_job(short=short), example=Example(command=command))
    with pytest.raises(PlacementError) as refused:
        assign_gpus(job, _cut(7))
    golden(str(refused.value))


def test_acceptance_is_refused_on_a_login_node():
    host = replace(_host(2), allocation=Allocation(room="slurm", partition="gpu", time="01:00:00"))
    with pytest.raises(PlacementError, match="acceptance measures a host's own GPUs, and h is a login node"):
        assign_gpus(load_job(paths.JOBS, "acceptance"), host)


def test_mig_instances_of_an_allocation_are_refused(golden):
    host = replace(_cut(2), allocation=Allocation(room="slurm", partition="gpu", time="01:00:00"))
    with pytest.raises(PlacementError) as refused:
        assign_gpus(_job(), host)
    golden(str(refused.value))
