# SPDX-License-Identifier: Apache-2.0
"""job.yml: what is wrong in it is one sentence; what a host cannot run is UNSUPPORTED."""

import shutil
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from rekindle.jobs import digest_inputs, load_job, prepare_spec, set_arguments, set_sizes
from rekindle.jobs.preparation import describe_hardware
from rekindle.records import (
    Allocation,
    EnvRecord,
    GivenGpu,
    GpuProcess,
    HostRecord,
    PlanRecord,
    RecordError,
    read_record,
)

JOBS = Path(__file__).parents[3] / "flare_jobs"


@pytest.mark.parametrize("name", sorted(path.parent.name for path in JOBS.glob("*/job.yml")))
def test_every_job_that_we_ship_reads(name):
    assert load_job(JOBS, name).name == name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ronds": 3}, "`ronds` is no field, `rounds` is"),
        (
            {"when_short_of_gpus": "maybe"},
            "`when_short_of_gpus` is 'maybe' and takes one of 'share', 'turns', ",
        ),
        ({"rounds": "three"}, "`rounds` is 'three' and takes a whole number"),
        ({"rounds": 0}, "`rounds` is 0 and takes a whole number >= 1"),
        ({"proof": []}, "`proof` is a list of 0 and takes a list of length >= 1"),
        ({"proof": [{"claim": "moon_is_full"}]}, "it claims 'moon_is_full', and no check has that name"),
        ({"name": "other"}, "is named 'other' inside"),
        ({"environment": "jax"}, "names the environment 'jax', and there is none. Fix: name one of torch, "),
        ({"environment": "torch+jax"}, "names the environment 'torch+jax', and there is none."),
        ({"code": "pt_dpp"}, "runs the code of 'pt_dpp', which has no job.py"),
        ({"example": None}, "does not have the command of its code. Fix: write example: "),
    ],
)
def test_a_wrong_field_is_named(tmp_path, change, message):
    shutil.copytree(JOBS / "pt_ddp", tmp_path / "pt_ddp")
    job = yaml.safe_load((JOBS / "pt_ddp" / "job.yml").read_text())
    (tmp_path / "pt_ddp" / "job.yml").write_text(yaml.safe_dump({**job, **change}))
    with pytest.raises(RecordError, match="Fix:") as error:
        load_job(tmp_path, "pt_ddp")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_job_that_does_not_exist_names_those_that_do():
    with pytest.raises(RecordError, match=r"no job 'pt_dpp' in flare_jobs/\. Fix: name one of .*pt_ddp"):
        load_job(JOBS, "pt_dpp")


def test_an_inventorys_arguments_go_over_the_jobs_own():
    job = set_arguments(load_job(JOBS, "llm_sft"), {"local_epoch": 3, "use_tracking": ["wandb"]})
    assert job.arguments["local_epoch"] == 3
    assert job.arguments["use_tracking"] == ("wandb",)
    assert job.arguments["train_mode"] == "SFT"


def test_an_inventorys_sizes_go_over_the_jobs_own():
    job = set_sizes(load_job(JOBS, "pt_ddp"), {"rounds": 20, "sites": 1, "limit_s": 7200})
    assert (job.rounds, job.sites, job.ranks_per_site, job.limit_s) == (20, 1, 2, 7200)


def test_an_argument_that_no_option_can_have_is_refused():
    with pytest.raises(RecordError, match=r"rekindle_job_arguments has a value for pt_ddp .* Fix:"):
        set_arguments(load_job(JOBS, "pt_ddp"), {"local_epoch": {"a": 1}})


@pytest.fixture
def h200(recordings):
    """Return the host, plan and environments of a recorded host."""
    kinds = {"host": HostRecord, "plan": PlanRecord, "env": EnvRecord}
    return [read_record(recordings / f"h200-x2/{name}.json", kind) for name, kind in kinds.items()]


def test_a_spec_has_the_gpus_that_its_sites_are_given_as_preflight_saw_them(h200):
    host, plan, env = h200
    first, second = host.gpus
    stranger = GpuProcess(pid=7, name="vllm", memory_mib=414)
    spare = replace(second, index=2, uuid="GPU-spare")
    host = replace(host, gpus=(replace(first, processes=(stranger,)), second, spare))
    spec = prepare_spec(load_job(JOBS, "pt_ddp"), host, plan, env, "/tmp")
    assert {gpu.uuid for gpu in spec.gpus} == {uuid for site in spec.sites for uuid in site.gpus}
    seen = {"name": first.name, "memory_mib": first.memory_total_mib, "processes": (stranger,)}
    assert spec.gpus[0] == GivenGpu(uuid=first.uuid, index=0, **seen)
    assert (spec.schema, spec.nonce, spec.allocation) == ("rekindle/spec/3", "", None)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("driver", lambda host: replace(host, driver=replace(host.driver, version="999.1"))),
        ("vbios", lambda host: replace(host, gpus=tuple(replace(gpu, vbios="96.1") for gpu in host.gpus))),
        ("boot", lambda host: replace(host, boot="another")),
    ],
)
def test_what_gpus_run_on_is_an_input_of_a_run_on_them(h200, name, change):
    (host, plan, env), job = h200, load_job(JOBS, "pt_ddp")
    changed = change(host)
    specs = [prepare_spec(job, on, plan, env, "/tmp") for on in (host, changed)]
    differ = {name: of for name, of in specs[1].versions.items() if of != specs[0].versions.get(name)}
    assert [*differ] == [name]
    assert digest_inputs(specs[0], "payload") != digest_inputs(specs[1], "payload")
    on_cpu = [prepare_spec(job, replace(on, gpus=()), plan, env, "/tmp") for on in (host, changed)]
    assert digest_inputs(on_cpu[0], "payload") == digest_inputs(on_cpu[1], "payload")


def test_the_next_node_that_slurm_gives_has_another_boot_and_maybe_vbios(h200):
    first, second = (replace(gpu, vbios=f"96.{gpu.index}") for gpu in h200[0].gpus)
    host = replace(h200[0], boot="one", gpus=(first, second))
    driver = {"driver": host.driver.version}
    assert describe_hardware(host, {first.uuid, second.uuid}) == {
        **driver,
        "vbios": "96.0, 96.1",
        "boot": "one",
    }
    assert describe_hardware(host, {second.uuid}) == {**driver, "vbios": "96.1", "boot": "one"}
    on_nodes = replace(host, allocation=Allocation(room="slurm", partition="gpu", time="01:00:00"))
    assert describe_hardware(on_nodes, {first.uuid}) == driver


def test_a_spec_has_what_slurm_is_asked_for_and_not_what_it_gives(h200):
    host, plan, env = h200
    slurm = Allocation(room="slurm", partition="gpu", nodes=2, gpus_per_node=2, time="01:00:00")
    spec = prepare_spec(load_job(JOBS, "pt_ddp"), replace(host, allocation=slurm), plan, env, "/tmp")
    assert (spec.allocation, spec.nodes) == (slurm, ())
    assert [site.ranks for site in spec.sites] == [2 * len(site.gpus) for site in spec.sites]
