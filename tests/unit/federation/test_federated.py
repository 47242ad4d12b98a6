# SPDX-License-Identifier: Apache-2.0
"""The run of a federation's hosts: what SLURM gave one of them."""

from msgspec.structs import replace

from rekindle.federation import parts
from rekindle.records import Allocation, Clock, GivenGpu, RunSpec, Site, read_record
from rekindle.results import collection


def _sites(**gpus):
    return tuple(Site(name=name, ranks=1, gpus=(gpu,), node=name) for name, gpu in gpus.items())


def test_a_site_has_the_gpus_that_slurm_gave_it_and_speaks_for_no_other(recordings):
    spec = read_record(recordings / "runs/pt_ddp-cpu-2/spec.json", RunSpec)
    seen = GivenGpu(uuid="seen", index=0, name="H200", memory_mib=143771)
    asked = Allocation(room="slurm", partition="gpu", gpus_per_node=1, time="01:00:00")
    clock = Clock(offset_s=0, error_s=0, asked="2026-11-21T08:00:00Z")
    sent = replace(
        spec, clock=clock, host="a", allocation=asked, gpus=(seen,), sites=_sites(a="seen", b="other")
    )
    returned = replace(sent, gpus=(replace(seen, uuid="given"),), sites=_sites(a="given", b="forged"))
    assert collection.merge_given(sent, returned).sites == _sites(a="given", b="other")
    given = {
        "a": collection.merge_given(sent, returned),
        "b": replace(sent, host="b", allocation=None, gpus=()),
    }
    server = replace(sent, host="s", allocation=None, gpus=())
    joined = parts.merge_specs({"s": server, **given})
    assert (joined.sites, [gpu.uuid for gpu in joined.gpus]) == (_sites(a="given", b="other"), ["given"])
