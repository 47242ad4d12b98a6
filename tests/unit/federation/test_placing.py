# SPDX-License-Identifier: Apache-2.0
"""What hosts of a federation are sent alike, which names their common run."""

import pytest
from msgspec.structs import replace
from samples.folders import HOST

from rekindle.federation.placement import Members, take_common
from rekindle.federation.records import Participant, make_member
from rekindle.records import Allocation, RunSpec, Site, read_record, write_record

SITES = tuple(Site(name=f"site-{name}", ranks=1, gpus=(), node=name) for name in ("cpu", "gpu-1", "gpu-2"))

KIT = {
    **{"role": "site", "kit": "/kit", "address": "192.0.2.1", "port": 8002},
    **{"sites": tuple(site.name for site in SITES)},
}


@pytest.fixture
def sent(tmp_path, recordings):
    """Return what a federation of a CPU and two GPU hosts is sent, once one of them has another ``boot``."""
    spec = read_record(next(recordings.glob("runs/*/spec.json")), RunSpec)

    def of(boot, allocation=None, scheme="tcp", limit_s=600):
        hosts = {"cpu": replace(HOST, gpus=(), driver=None), "gpu-1": HOST, "gpu-2": replace(HOST, boot=boot)}
        for name, host in hosts.items():
            asked = allocation if name == "gpu-1" else None
            write_record(tmp_path / name / "host.json", replace(host, host=name, allocation=asked))
        members = Members(tmp_path, "server", [*hosts], {*hosts}, 0)
        versions = {"nvflare": "2.7.3", "python": "3.12.3"}
        mine = make_member("site-cpu", 3, Participant(**KIT, scheme=scheme))
        job = replace(spec.job, limit_s=limit_s)
        versions |= members.hardware()
        return replace(spec, sites=SITES, versions=versions, allocation=allocation, member=mine, job=job)

    return of


def test_all_hosts_run_again_if_one_was_rebooted(sent):
    (first, shared), (second, _), (same, _) = (take_common(sent(boot), "payload") for boot in ("a", "b", "a"))
    assert first == same != second
    driver = HOST.driver.version
    assert shared.versions == {
        **{"nvflare": "2.7.3", "gpu-1 driver": driver},
        **{"gpu-2 driver": driver, "gpu-2 boot": "a"},
    }


def test_what_was_proven_over_tcp_does_not_stand_for_grpc(sent):
    assert take_common(sent("a"), "payload")[0] != take_common(sent("a", scheme="grpc"), "payload")[0]


def test_a_site_in_an_allocation_has_the_run_of_those_that_are_in_none(sent):
    asked = Allocation(room="slurm", partition="gpu", time="02:00:00")
    of_slurm, shared = take_common(sent("a", asked, limit_s=300), "payload")
    elsewhere = replace(sent("a", asked), allocation=None)
    assert of_slurm == take_common(elsewhere, "payload")[0] != take_common(sent("a"), "payload")[0]
    assert shared.versions["gpu-1 slurm"] == "partition=gpu nodes=1 time=02:00:00"
