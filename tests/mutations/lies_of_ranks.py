"""Contradictions in who trained on what: devices, processes, samples of GPUs, exceptions, files and lines."""

import json
import re

from mutation_kinds import (
    both,
    claims,
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
from mutation_runs import clone, recordings


def _others(rng, choices, one):
    return pick(rng, [other for other in choices if other != one])


def _shared(run):
    """Whether two ranks told one GPU."""
    uuids = [one["uuid"] for one in run.of("device")]
    return on_gpus(run) and len(set(uuids)) < len(uuids)


def trained_on(run, uuid):
    """Return the PIDs of the trainers of a GPU, as samples name them."""
    return {str(one["pid"]) for one in run.of("device", uuid=uuid)}


def _memory_told(run):
    return any(one.get("memory_mib") for one in run.of("sample"))


def _working(run):
    """Return (sample, uuid, gpu) of each look at a GPU while a trainer held it."""
    return [
        (sample, uuid, gpu)
        for sample in run.of("sample")
        for uuid, gpu in sample["gpus"].items()
        if trained_on(run, uuid) & gpu["processes"].keys()
    ]


@lie("pids", several_sites)
def _one_pid_at_two_sites(run, rng):
    site, other = rng.sample(run.sites, 2)
    pid = run.of("device", site=other)[0]["pid"]
    for one in run.of("device", site=site):
        one["pid"] = pid


@lie("pids", both(several_sites, on_gpus))
def _one_pid_at_two_sites_on_the_same_gpu(run, rng):
    """With all that the samples say of it."""
    site, other = rng.sample(run.sites, 2)
    new = {
        one["pid"]: two["pid"]
        for one, two in zip(run.of("device", site=site), run.of("device", site=other), strict=True)
    }
    for one in run.of("device", site=site):
        one["pid"] = new[one["pid"]]
    _rename_pids(run, {str(old): str(pid) for old, pid in new.items()})


def _rename_pids(run, new):
    for sample in run.of("sample"):
        for gpu in sample["gpus"].values():
            for name in ("processes", "process_utilisation"):
                if gpu.get(name):
                    gpu[name] = {new.get(pid, pid): value for pid, value in gpu[name].items()}


@lie("pids", processes_by_rank)
def _one_pid_for_two_ranks_of_a_site(run, rng):
    one, other, *_ = run.of("device", site=pick(rng, run.sites))
    one["pid"] = other["pid"]


@lie("pids", several_sites, ways=1)
def _one_pid_for_all(run, rng):
    for one in run.of("device"):
        one["pid"] = 4711


@lie("pids", on_gpus)
def _a_pid_never_seen_on_the_gpu(run, rng):
    pick(rng, run.of("device"))["pid"] += rng.choice((-1, 1)) * rng.randint(100_000, 200_000)


@lie("pids", on_gpus)
def _a_pid_seen_on_another_gpu_only(run, rng):
    one = pick(rng, run.of("device"))
    others = set(run.gpus) - {one["uuid"]}
    pids = {pid for uuid in others for pid in trained_on(run, uuid)} - trained_on(run, one["uuid"])
    one["pid"] = int(pick(rng, sorted(pids)))


lies(
    "pids",
    {
        f"pid {pid}": lambda run, rng, pid=pid: pick(rng, run.of("device")).update(pid=pid)
        for pid in (0, -1, 1, 2**40)
    },
)


@lie("devices", ways=6)
def _device_told_after_training(run, rng):
    one = pick(rng, run.of("device"))
    mine = list(run.of("round", site=one["site"], rank=one["rank"]))
    one["time"] = pick(rng, mine)["time"] + rng.choice((0.001, 1.0))


@lie("devices")
def _device_told_in_the_middle_of_round_0(run, rng):
    one = pick(rng, run.of("device"))
    first = run.of("round", site=one["site"], rank=one["rank"], round=0)[0]
    one["time"] = first["time"] - first["seconds"] / 2


@lie("devices")
def _device_never_told(run, rng):
    one = pick(rng, run.of("device"))
    run.file_of(one).remove(one)


@lie("devices", _shared)
def _one_gpu_with_two_names(run, rng):
    shared = [one for one in run.of("device") if len(run.of("device", uuid=one["uuid"])) > 1]
    pick(rng, shared)["name"] = rng.choice(("NVIDIA A100-SXM4-80GB", "Tesla T4", "cpu"))


@lie("devices", _shared)
def _one_gpu_with_a_name_and_without(run, rng):
    shared = [one for one in run.of("device") if len(run.of("device", uuid=one["uuid"])) > 1]
    pick(rng, shared)["name"] = rng.choice((None, ""))


@lie("devices", both(spec2, on_gpus))
def _a_gpu_has_another_name_than_preflight_saw(run, rng):
    pick(rng, run.spec["gpus"])["name"] = "Tesla T4"


@lie("devices", on_gpus)
def _a_rank_on_the_gpu_of_another(run, rng):
    one = pick(rng, run.of("device"))
    one["uuid"] = _others(rng, run.gpus, one["uuid"])


@lie("devices", both(on_gpus, several_ranks))
def _two_ranks_swap_their_gpus(run, rng):
    one, other, *_ = run.of("device", site=pick(rng, run.sites))
    if one["uuid"] == other["uuid"]:
        pick(rng, ())
    one["uuid"], other["uuid"] = other["uuid"], one["uuid"]


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
    one, other, *_ = run.of("device", site=pick(rng, run.sites))
    one["device"] = other["device"]


@lie("devices", on_cpu)
def _a_rank_on_a_gpu_of_a_run_on_cpu(run, rng):
    pick(rng, run.of("device"))["device"] = "cuda:0"


@lie("devices")
def _an_unknown_backend(run, rng):
    pick(rng, run.of("device"))["backend"] = rng.choice(("mpi", "", "fake"))


@lie("devices", processes_by_rank)
def _two_ranks_with_one_local_rank(run, rng):
    one, other, *_ = run.of("device", site=pick(rng, run.sites))
    one["local_rank"] = other["local_rank"]


lies(
    "devices",
    {
        f"local rank {value}": lambda run, rng, value=value: pick(rng, run.of("device")).update(
            local_rank=value
        )
        for value in (-1, 17, 1000)
    },
)


@lie("second events")
def _a_rank_told_two_devices(run, rng):
    one = pick(rng, run.of("device"))
    other = {**one, "time": one["time"] + 0.001, "pid": one["pid"] + 1}
    if one["uuid"]:
        other.update(uuid="GPU-00000000-dead-beef-0000-000000000000")
    events = run.file_of(one)
    events.insert(rng.choice((0, 1, len(events))), other)


@lie("second events")
def _a_rank_told_its_device_twice_with_another_pid(run, rng):
    """It was started again in mid-run."""
    one = pick(rng, run.of("device"))
    run.file_of(one).append({**one, "time": one["time"] + 0.5, "pid": one["pid"] + 1})


@lie("second events")
def _a_round_told_twice_with_other_models(run, rng):
    one = pick(rng, run.of("round"))
    events = run.file_of(one)
    other = {**one, "model_out": f"{rng.getrandbits(256):064x}", "time": one["time"] + 0.001}
    events.insert(next(at for at, event in enumerate(events) if event is one) + rng.randint(0, 1), other)


@lie("second events")
def _a_round_told_twice_with_other_losses(run, rng):
    one = pick(rng, run.of("round"))
    run.file_of(one).append({**one, "losses": [loss * 0.5 for loss in one["losses"]]})


@lie("second events")
def _a_round_told_twice(run, rng):
    one = pick(rng, run.of("round"))
    run.file_of(one).append(clone(one))


@lie("second events")
def _the_file_of_a_rank_holds_everything_twice(run, rng):
    events = run.events_of(pick(rng, [path for path in run.evidence if "rank" in path]))
    events += clone(events)


@lie("second events")
def _a_final_model_told_twice(run, rng):
    """The second one is another, or better."""
    other = {**clone(run.final), "time": run.final["time"] + 0.1}
    how = rng.randrange(3)
    if how == 0:
        other["final"] = f"{rng.getrandbits(256):064x}"
    elif how == 1:
        other["distance"] = run.final["distance"] * 2
    else:
        other["metrics"] = {name: value * 0.5 for name, value in run.final["metrics"].items()}
    run.file_of(run.final).insert(rng.choice((0, len(run.file_of(run.final)))), other)


@lie("second events", claims("tracking_read_back"))
def _a_tracker_told_twice(run, rng):
    one = pick(rng, run.of("tracking"))
    run.file_of(one).append({**one, "scalars": [[*scalar[:3], scalar[3] * 2] for scalar in one["scalars"]]})


@lie("exceptions")
def _an_exception_of_a_rank(run, rng):
    """All else went well, as when it was raised after the last round."""
    site = pick(rng, run.sites)
    path = f"evidence/{site}.rank-{rng.randrange(run.ranks(site))}.jsonl"
    run.events_of(path).append(_exception(run, run.events_of(path)[-1], rng))


def _exception(run, after, rng):
    return {
        "event": "exception",
        "time": after["time"] + rng.choice((-0.5, 0.01, 0.3)),
        **({"nonce": after["nonce"]} if "nonce" in after else {}),
        "site": after["site"],
        "rank": after["rank"],
        "kind": rng.choice(("RuntimeError", "KeyboardInterrupt", "torch.OutOfMemoryError")),
        "message": rng.choice(("CUDA error: an illegal memory access was encountered", "boom", "")),
        "place": "client.py:90 in main",
    }


@lie("exceptions", ways=1)
def _an_exception_of_every_rank_after_the_last_round(run, rng):
    for path in run.evidence:
        events = run.events_of(path)
        if events[-1]["event"] == "round":
            events.append(_exception(run, events[-1], rng))


@lie("exceptions")
def _an_exception_of_a_rank_in_the_file_of_another(run, rng):
    site = pick(rng, run.sites)
    events = run.events_of(f"evidence/{site}.rank-0.jsonl")
    path = _others(rng, run.evidence, f"evidence/{site}.rank-0.jsonl")
    run.events_of(path).insert(0, _exception(run, events[-1], rng))


@lie("exceptions")
def _an_exception_in_a_file_of_its_own(run, rng):
    last = run.of("round")[-1]
    run.add_events(
        f"evidence/{rng.choice(('zz', 'errors', 'site-1.rank-7'))}.jsonl", [_exception(run, last, rng)]
    )


@lie("files")
def _files_of_two_ranks_swapped(run, rng):
    one, other = rng.sample([path for path in run.evidence if "rank" in path], 2)
    first, then = clone(run.events_of(one)), clone(run.events_of(other))
    run.events_of(one)[:], run.events_of(other)[:] = then, first


@lie("files")
def _a_rank_s_lines_in_the_file_of_another(run, rng):
    one, other = rng.sample([path for path in run.evidence if "rank" in path], 2)
    run.events_of(other).extend(clone(run.events_of(one)))
    run.remove(one)


@lie("files")
def _one_line_in_the_file_of_another(run, rng):
    one, other = rng.sample([path for path in run.evidence if "rank" in path], 2)
    run.events_of(other).append(run.events_of(one).pop(rng.randrange(len(run.events_of(one)))))


@lie("files")
def _a_rank_s_file_with_another_name(run, rng):
    path = pick(rng, [path for path in run.evidence if "rank" in path])
    run.rename(path, path.replace("rank-", rng.choice(("rank-1", "rank-x", "was-rank-"))))


@lie("files", ways=1)
def _all_evidence_in_one_file(run, rng):
    every = [event for path in run.evidence for event in clone(run.events_of(path))]
    for path in run.evidence:
        run.remove(path)
    run.add_events("evidence/job.jsonl", every)


@lie("files")
def _the_final_model_in_the_file_of_a_rank(run, rng):
    """The trainer says what came of the run."""
    final = run.final
    run.file_of(final).remove(final)
    run.events_of(pick(rng, [path for path in run.evidence if "rank" in path])).append(final)


@lie("files")
def _a_device_in_the_file_of_the_job(run, rng):
    one = pick(rng, run.of("device"))
    run.file_of(one).remove(one)
    run.events_of("evidence/job.jsonl").append(one)


@lie("files", on_gpus)
def _samples_in_evidence_of_a_trainer(run, rng):
    """The driver's part is told by the job."""
    events = run.events_of("samples.jsonl")
    run.add_events("evidence/samples.jsonl", clone(events))
    run.remove("samples.jsonl")


@lie("files")
def _evidence_of_a_rank_is_gone(run, rng):
    run.remove(pick(rng, [path for path in run.evidence if "rank" in path]))


@lie("files", ways=1)
def _evidence_is_empty(run, rng):
    for path in run.evidence:
        run.events_of(path).clear()


@lie("ranks")
def _a_rank_that_the_run_does_not_have(run, rng):
    site = pick(rng, run.sites)
    rank, count = run.ranks(site), run.ranks(site)
    events = clone(run.events_of(f"evidence/{site}.rank-{count - 1}.jsonl"))
    for one in events:
        one["rank"] = rank
        if one["event"] == "device":
            one["pid"] += 77_000
    run.add_events(f"evidence/{site}.rank-{rank}.jsonl", events)


@lie("ranks")
def _a_site_that_the_run_does_not_have(run, rng):
    site = pick(rng, run.sites)
    for rank in range(run.ranks(site)):
        events = clone(run.events_of(f"evidence/{site}.rank-{rank}.jsonl"))
        for one in events:
            one["site"] = "site-3"
            if one["event"] == "device":
                one["pid"] += 77_000
        run.add_events(f"evidence/site-3.rank-{rank}.jsonl", events)


@lie("ranks")
def _a_line_of_a_site_that_the_run_does_not_have(run, rng):
    one = pick(rng, run.of("round"))
    run.file_of(one).append({**one, "site": rng.choice(("site-3", "server", "", "site-1 "))})


@lie("ranks")
def _a_line_of_a_rank_that_the_run_does_not_have(run, rng):
    one = pick(rng, run.of("round"))
    run.file_of(one).append({**one, "rank": rng.choice((-1, 17))})


@lie("lines")
def _an_unknown_event(run, rng):
    one = pick(rng, run.of("round"))
    events = run.file_of(one)
    other = {**one, "event": rng.choice(("retry", "aborted", "restart", "Round"))}
    events.insert(rng.randint(0, len(events)), other)


@lie("lines")
def _an_event_with_an_unknown_field(run, rng):
    pick(rng, run.of("round"))["event"] = "round "


@lie("lines")
def _garbage_among_the_lines(run, rng):
    """In mid-file; a last line may have been cut off as the driver ended what was left."""
    events = run.events_of(pick(rng, run.evidence))
    events.insert(
        rng.randrange(len(events)),
        rng.choice(("\x00\x00\x00", "{", "not json", json.dumps(events[0])[:-9], '{"event": "round"}', "[]")),
    )


@lie("lines")
def _a_line_cut_in_its_middle(run, rng):
    path = pick(rng, run.evidence)
    events = run.events_of(path)
    place = rng.randrange(len(events))
    text = json.dumps(events[place])
    events[place] = text[: len(text) // 2]


@lie("lines")
def _a_file_cut_in_its_middle(run, rng):
    path = pick(rng, run.evidence)
    content = run.files[path]
    run.write(path, content[: rng.randint(len(content) // 4, len(content) * 3 // 4)])


@lie("lines", ways=4)
def _a_line_of_another_run(run, rng):
    """In place of one of this run: same job, site, rank and round."""
    other = _other_run(run, rng)
    one = pick(rng, run.of(pick(rng, ("round", "device"))))
    same = {name: one[name] for name in ("site", "rank", "round") if name in one}
    theirs = other.of(one["event"], **same)
    events = run.file_of(one)
    events[next(at for at, event in enumerate(events) if event is one)] = clone(pick(rng, theirs))


@lie("lines")
def _the_file_of_a_rank_of_another_run(run, rng):
    other = _other_run(run, rng)
    path = pick(rng, [path for path in run.evidence if "rank" in path and path in other.files])
    run.write(path, other.files[path])


@lie("lines")
def _the_final_model_of_another_run(run, rng):
    other = _other_run(run, rng)
    run.write("evidence/job.jsonl", other.files["evidence/job.jsonl"])


@lie("lines", spec2)
def _the_final_model_of_another_run_at_this_run_s_time(run, rng):
    other = _other_run(run, rng)
    final = run.final
    nonce = {"nonce": final["nonce"]} if "nonce" in final else {}
    final.update({**clone(other.final), "time": final["time"], **nonce})


def _other_run(run, rng):
    """Return another recorded run of the same job, or of any other."""
    job = run.spec["job"]["name"]
    others = [name for name in recordings() if name != run.name]
    same = [name for name in others if name.startswith(job)]
    return run.copy_of(pick(rng, same or others))


@lie("gpu samples", on_gpus, ways=1)
def _no_samples_of_gpus(run, rng):
    run.remove("samples.jsonl")


@lie("gpu samples", on_gpus)
def _samples_of_another_run(run, rng):
    others = [name for name in recordings() if name != run.name and run.copy_of(name).gpus]
    run.write("samples.jsonl", run.copy_of(pick(rng, others)).files["samples.jsonl"])


@lie("gpu samples", on_gpus, ways=4)
def _samples_of_another_time(run, rng):
    """Or of another day, all of them."""
    off = rng.choice((-1, 1)) * pick(rng, (600, 3600, 86400, 86400 * 30))
    for one in run.of("sample"):
        one["time"] += off


@lie("gpu samples", on_gpus, ways=4)
def _one_sample_of_another_time(run, rng):
    off = rng.choice((-1, 1)) * pick(rng, (600, 3600, 86400, 86400 * 30))
    pick(rng, run.of("sample"))["time"] += off


@lie("gpu samples", on_gpus, ways=1)
def _samples_at_one_and_the_same_moment(run, rng):
    last = run.of("sample")[-1]["time"]
    for one in run.of("sample"):
        one["time"] = last


@lie("gpu samples", on_gpus)
def _samples_stop_before_training_ends(run, rng):
    trained = max(one["time"] for one in run.of("round"))
    run.events_of("samples.jsonl")[:] = [one for one in run.of("sample") if one["time"] < trained - 1]


def _figure(field, values):
    def change(run, rng):
        _, _, gpu = pick(rng, [one for one in _working(run) if one[2].get(field) is not None])
        gpu[field] = pick(rng, values)

    return change


lies(
    "gpu samples",
    {
        "a GPU utilised at 101 percent": _figure("utilisation", (101, 200, 10**6)),
        "a GPU utilised below zero": _figure("utilisation", (-1, -100)),
        "memory of a GPU at 101 percent": _figure("memory_utilisation", (101, 10**6)),
        "memory of a GPU below zero percent": _figure("memory_utilisation", (-1,)),
        "memory of a GPU used below zero": _figure("used_mib", (-1, -4000)),
        "memory of a GPU of a million GiB": _figure("used_mib", (2**30, 2**60)),
        "memory of a GPU less than its processes hold": _figure("used_mib", (0, 1)),
    },
    where=on_gpus,
)


@lie("gpu samples", on_gpus, ways=1)
def _every_gpu_utilised_at_101_percent(run, rng):
    for _, _, gpu in _working(run):
        gpu["utilisation"] = 101
        if gpu.get("process_utilisation"):
            gpu["process_utilisation"] = dict.fromkeys(gpu["process_utilisation"], 101)


@lie("gpu samples", on_gpus)
def _a_process_that_holds_less_than_no_memory(run, rng):
    _, _, gpu = pick(rng, _working(run))
    gpu["processes"][pick(rng, gpu["processes"])] = -rng.randint(1, 5000)


@lie("gpu samples", on_gpus)
def _a_process_that_holds_more_than_the_gpu_has(run, rng):
    _, _, gpu = pick(rng, _working(run))
    gpu["processes"][pick(rng, gpu["processes"])] = rng.choice((2**30, gpu["used_mib"] + 100_000))


@lie("gpu samples", lambda run: any((gpu.get("process_utilisation") for _, _, gpu in _working(run))))
def _a_process_that_uses_101_percent(run, rng):
    _, _, gpu = pick(rng, [one for one in _working(run) if one[2].get("process_utilisation")])
    gpu["process_utilisation"][pick(rng, gpu["process_utilisation"])] = rng.choice((101, -1, 10**6))


@lie("gpu samples", on_gpus)
def _a_process_that_is_no_pid(run, rng):
    _, _, gpu = pick(rng, _working(run))
    gpu["processes"][rng.choice(("x", "", "-5", "python"))] = 100


@lie("gpu samples", on_gpus)
def _a_gpu_that_never_worked(run, rng):
    uuid = pick(rng, run.gpus)
    for sample in run.of("sample"):
        if uuid in sample["gpus"]:
            sample["gpus"][uuid]["utilisation"] = 0
            if sample["gpus"][uuid].get("process_utilisation"):
                sample["gpus"][uuid]["process_utilisation"] = {}


@lie("gpu samples", on_gpus)
def _a_gpu_that_was_never_sampled(run, rng):
    uuid = pick(rng, run.gpus)
    for sample in run.of("sample"):
        sample["gpus"].pop(uuid, None)


@lie("gpu samples", on_gpus)
def _a_trainer_that_never_held_memory(run, rng):
    one = pick(rng, run.of("device"))
    for sample in run.of("sample"):
        for gpu in sample["gpus"].values():
            gpu["processes"].pop(str(one["pid"]), None)


@lie("gpu samples", on_gpus)
def _a_trainer_held_no_memory_while_it_trained(run, rng):
    """But before and after."""
    one = pick(rng, run.of("device"))
    times = [
        (told["time"] - told["seconds"], told["time"])
        for told in run.of("round", site=one["site"], rank=one["rank"])
    ]
    seen = [
        sample
        for sample in run.of("sample")
        if any(began + 1 < sample["time"] <= ended for began, ended in times)
    ]
    for sample in pick(rng, [seen] if seen else []):
        sample["gpus"][one["uuid"]]["processes"].pop(str(one["pid"]), None)


@lie("gpu samples", both(on_gpus, processes_by_rank))
def _two_gpus_swapped_in_the_samples(run, rng):
    one, other = rng.sample(run.gpus, 2)
    new = {one: other, other: one}
    for sample in run.of("sample"):
        sample["gpus"] = {new.get(uuid, uuid): gpu for uuid, gpu in sample["gpus"].items()}


@lie("gpu samples", on_gpus)
def _trainers_held_a_gpu_before_they_told_it(run, rng):
    """And before they could have been started."""
    first = run.of("sample")[0]
    for uuid, gpu in first["gpus"].items():
        gpu["processes"] = dict.fromkeys(sorted(trained_on(run, uuid)), 1000)
        gpu["used_mib"] += 5000


@lie("gpu samples", on_gpus)
def _samples_repeat_one_moment(run, rng):
    """All samples from the first work on say the same as one of them."""
    sample = pick(rng, _working(run))[0]
    for one in run.of("sample"):
        if one["time"] < sample["time"]:
            one["gpus"] = clone(sample["gpus"])


@lie("memory", claims("memory_told"), ways=1)
def _no_memory_of_the_server(run, rng):
    for one in run.of("sample"):
        one.get("memory_mib", {}).pop("server", None)


@lie("memory", _memory_told)
def _memory_below_zero(run, rng):
    one = pick(rng, [one for one in run.of("sample") if one.get("memory_mib")])
    one["memory_mib"][pick(rng, one["memory_mib"])] = -rng.randint(1, 1000)


@lie("memory", _memory_told)
def _peak_memory_that_falls(run, rng):
    """It is the most so far."""
    told = [one for one in run.of("sample") if one.get("memory_mib")]
    name = pick(rng, told[-1]["memory_mib"])
    having = [one for one in told if name in one["memory_mib"]]
    if len(having) < 3:
        pick(rng, ())
    having[len(having) // 2]["memory_mib"][name] *= 3


@lie("memory", _memory_told)
def _memory_of_a_site_that_the_run_does_not_have(run, rng):
    one = pick(rng, [one for one in run.of("sample") if one.get("memory_mib")])
    one["memory_mib"][rng.choice(("site-9", "", "client"))] = 100


@lie("xid", both(on_gpus, spec2))
def _an_xid_during_the_run(run, rng):
    _, _, gpu = pick(rng, _working(run))
    gpu["xids"] = [pick(rng, (13, 31, 48, 79, 94, 95, 119))]


@lie("xid", both(on_gpus, spec2))
def _an_uncorrected_ecc_error_during_the_run(run, rng):
    uuid = pick(rng, run.gpus)
    looks = [
        one["gpus"][uuid]
        for one in run.of("sample")
        if one["gpus"].get(uuid, {}).get("ecc_uncorrected") is not None
    ]
    if len(looks) < 2:
        pick(rng, ())
    for gpu in looks[rng.randint(1, len(looks) - 1) :]:
        gpu["ecc_uncorrected"] += rng.choice((1, 8))


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
