"""Contradictions in who trained on what: devices, processes, and what the spec asks of them."""

import re

from mutation_kinds import (
    both,
    gpus_named,
    lie,
    lies,
    on_cpu,
    on_gpus,
    pick,
    processes_by_rank,
    several_ranks,
    several_sites,
    spec2,
)
from mutation_runs import recordings


def others(rng, choices, choice):
    return pick(rng, [other for other in choices if other != choice])


def _shared(run):
    """Whether two ranks told one GPU."""
    uuids = [device["uuid"] for device in run.of("device")]
    return on_gpus(run) and len(set(uuids)) < len(uuids)


def trained_on(run, uuid):
    """Return the PIDs of the trainers of a GPU, as samples name them."""
    return {str(device["pid"]) for device in run.of("device", uuid=uuid)}


@lie("pids", several_sites)
def _one_pid_at_two_sites(run, rng):
    site, other = rng.sample(run.sites, 2)
    pid = run.of("device", site=other)[0]["pid"]
    for device in run.of("device", site=site):
        device["pid"] = pid


@lie("pids", both(several_sites, on_gpus))
def _one_pid_at_two_sites_on_the_same_gpu(run, rng):
    """With all that the samples say of it."""
    site, other = rng.sample(run.sites, 2)
    new = {
        device["pid"]: theirs["pid"]
        for device, theirs in zip(run.of("device", site=site), run.of("device", site=other), strict=True)
    }
    for device in run.of("device", site=site):
        device["pid"] = new[device["pid"]]
    _rename_pids(run, {str(old): str(pid) for old, pid in new.items()})


def _rename_pids(run, new):
    for sample in run.of("sample"):
        for gpu in sample["gpus"].values():
            for name in ("processes", "process_utilisation"):
                if gpu.get(name):
                    gpu[name] = {new.get(pid, pid): value for pid, value in gpu[name].items()}


@lie("pids", processes_by_rank)
def _one_pid_for_two_ranks_of_a_site(run, rng):
    device, other, *_ = run.of("device", site=pick(rng, run.sites))
    device["pid"] = other["pid"]


@lie("pids", several_sites, ways=1)
def _one_pid_for_all(run, rng):
    for device in run.of("device"):
        device["pid"] = 4711


@lie("pids", on_gpus)
def _a_pid_never_seen_on_the_gpu(run, rng):
    pick(rng, run.of("device"))["pid"] += rng.choice((-1, 1)) * rng.randint(100_000, 200_000)


@lie("pids", on_gpus)
def _a_pid_seen_on_another_gpu_only(run, rng):
    device = pick(rng, run.of("device"))
    others = set(run.gpus) - {device["uuid"]}
    pids = {pid for uuid in others for pid in trained_on(run, uuid)} - trained_on(run, device["uuid"])
    device["pid"] = int(pick(rng, sorted(pids)))


lies(
    "pids",
    {
        f"pid {pid}": lambda run, rng, pid=pid: pick(rng, run.of("device")).update(pid=pid)
        for pid in (0, -1, 1, 2**40)
    },
)


@lie("devices", ways=6)
def _device_told_after_training(run, rng):
    device = pick(rng, run.of("device"))
    mine = list(run.of("round", site=device["site"], rank=device["rank"]))
    device["time"] = pick(rng, mine)["time"] + rng.choice((0.001, 1.0))


@lie("devices")
def _device_told_in_the_middle_of_round_0(run, rng):
    device = pick(rng, run.of("device"))
    first = run.of("round", site=device["site"], rank=device["rank"], round=0)[0]
    device["time"] = first["time"] - first["seconds"] / 2


@lie("devices")
def _device_never_told(run, rng):
    device = pick(rng, run.of("device"))
    run.file_of(device).remove(device)


@lie("devices", _shared)
def _one_gpu_with_two_names(run, rng):
    shared = [device for device in run.of("device") if len(run.of("device", uuid=device["uuid"])) > 1]
    pick(rng, shared)["name"] = rng.choice(("NVIDIA A100-SXM4-80GB", "Tesla T4", "cpu"))


@lie("devices", _shared)
def _one_gpu_with_a_name_and_without(run, rng):
    shared = [device for device in run.of("device") if len(run.of("device", uuid=device["uuid"])) > 1]
    pick(rng, shared)["name"] = rng.choice((None, ""))


@lie("devices", both(spec2, gpus_named))
def _a_gpu_has_another_name_than_preflight_saw(run, rng):
    pick(rng, run.spec["gpus"])["name"] = "Tesla T4"


@lie("devices", on_gpus)
def _a_rank_on_the_gpu_of_another(run, rng):
    device = pick(rng, run.of("device"))
    device["uuid"] = others(rng, run.gpus, device["uuid"])


@lie("devices", both(on_gpus, several_ranks))
def _two_ranks_swap_their_gpus(run, rng):
    device, other, *_ = run.of("device", site=pick(rng, run.sites))
    if device["uuid"] == other["uuid"]:
        pick(rng, ())
    device["uuid"], other["uuid"] = other["uuid"], device["uuid"]


@lie("devices", on_gpus)
def _a_rank_on_a_gpu_that_the_run_was_not_given(run, rng):
    pick(rng, run.of("device"))["uuid"] = "GPU-00000000-dead-beef-0000-000000000000"


@lie("devices", on_gpus)
def _a_rank_on_cpu(run, rng):
    pick(rng, run.of("device")).update(device="cpu", uuid=None, name=None, backend="gloo")


@lie("devices", on_gpus)
def _a_rank_says_cpu_and_the_uuid_of_its_gpu(run, rng):
    pick(rng, run.of("device"))["device"] = "cpu"


@lie("devices", both(on_gpus, processes_by_rank))
def _two_ranks_of_a_site_on_one_device(run, rng):
    """As each counts its devices, not by their UUIDs."""
    event, other, *_ = run.of("device", site=pick(rng, run.sites))
    event["device"] = other["device"]


@lie("devices", on_cpu)
def _a_rank_on_a_gpu_of_a_run_on_cpu(run, rng):
    pick(rng, run.of("device"))["device"] = "cuda:0"


@lie("devices")
def _an_unknown_backend(run, rng):
    pick(rng, run.of("device"))["backend"] = rng.choice(("mpi", "", "fake"))


@lie("devices", spec2)
def _a_rank_on_another_machine(run, rng):
    pick(rng, run.of("device"))["node"] = "elsewhere"


@lie("figures", spec2)
def _a_rank_s_own_part_takes_longer_than_the_round(run, rng):
    told = pick(rng, run.of("round"))
    told["forward_s"] = told["seconds"] * rng.choice((1.1, -1, 1000))


@lie("devices", processes_by_rank)
def _two_ranks_with_one_local_rank(run, rng):
    device, other, *_ = run.of("device", site=pick(rng, run.sites))
    device["local_rank"] = other["local_rank"]


lies(
    "devices",
    {
        f"local rank {value}": lambda run, rng, value=value: pick(rng, run.of("device")).update(
            local_rank=value
        )
        for value in (-1, 17, 1000)
    },
)


@lie("spec", several_sites)
def _the_spec_names_another_site(run, rng):
    pick(rng, run.spec["sites"])["name"] = rng.choice(("site-3", "site", "server"))


@lie("spec")
def _the_spec_asks_for_another_number_of_ranks(run, rng):
    pick(rng, run.spec["sites"])["ranks"] += rng.choice((1, -1))


@lie("spec")
def _the_spec_asks_for_another_number_of_rounds(run, rng):
    run.spec["job"]["rounds"] += rng.choice((1, -1, 10))


@lie("spec", several_sites)
def _the_spec_has_one_site_less(run, rng):
    run.spec["sites"].pop(rng.randrange(len(run.sites)))


@lie("spec")
def _the_spec_has_no_sites(run, rng):
    run.spec["sites"] = []


@lie("spec", both(on_gpus, several_ranks))
def _the_spec_gives_gpus_in_another_order(run, rng):
    site = pick(rng, [site for site in run.spec["sites"] if len(set(site["gpus"])) > 1])
    site["gpus"].reverse()


@lie("spec", lambda run: "local_epoch" in run.spec["job"]["arguments"])
def _the_spec_asks_for_another_number_of_epochs(run, rng):
    arguments = run.spec["job"]["arguments"]
    arguments["local_epoch"] += rng.choice((1, 5))


@lie("spec")
def _the_spec_claims_what_nobody_knows(run, rng):
    run.spec["job"]["proof"].append({"claim": rng.choice(("all_is_well", "", "__import__")), "options": {}})


@lie("spec")
def _the_spec_is_of_another_run(run, rng):
    others = [
        name for name in recordings() if run.copy_of(name).spec["job"]["name"] != run.spec["job"]["name"]
    ]
    run.write("spec.json", run.copy_of(pick(rng, others)).files["spec.json"])


@lie("spec", ways=4)
def _spec_or_end_is_no_record(run, rng):
    path = rng.choice(("spec.json", "ended.json"))
    content = run.files[path]
    run.write(
        path, rng.choice((b"", b"[]", b"null", content[:-20], re.sub(rb'"schema"', b'"scheme"', content)))
    )
