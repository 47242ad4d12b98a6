"""Contradictions in what the driver sampled: GPUs, processes on them, memory, errors."""

from lies_of_ranks import trained_on
from mutation_kinds import both, claims, lie, lies, of_ours, on_gpus, pick, processes_by_rank, spec2
from mutation_runs import clone, recordings


def _memory_told(run):
    return any(sample.get("memory_mib") for sample in run.of("sample"))


def _working(run):
    """Return (sample, uuid, gpu) of each look at a GPU while a trainer held it."""
    return [
        (sample, uuid, gpu)
        for sample in run.of("sample")
        for uuid, gpu in sample["gpus"].items()
        if trained_on(run, uuid) & gpu["processes"].keys()
    ]


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
    for sample in run.of("sample"):
        sample["time"] += off


@lie("gpu samples", on_gpus, ways=4)
def _one_sample_of_another_time(run, rng):
    off = rng.choice((-1, 1)) * pick(rng, (600, 3600, 86400, 86400 * 30))
    pick(rng, run.of("sample"))["time"] += off


@lie("gpu samples", on_gpus, ways=1)
def _samples_at_one_and_the_same_moment(run, rng):
    last = run.of("sample")[-1]["time"]
    for sample in run.of("sample"):
        sample["time"] = last


@lie("gpu samples", on_gpus)
def _samples_stop_before_training_ends(run, rng):
    trained = max(event["time"] for event in run.of("round"))
    run.events_of("samples.jsonl")[:] = [
        sample for sample in run.of("sample") if sample["time"] < trained - 1
    ]


def _figure(field, values):
    def change(run, rng):
        _, _, gpu = pick(rng, [look for look in _working(run) if look[2].get(field) is not None])
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
    _, _, gpu = pick(rng, [look for look in _working(run) if look[2].get("process_utilisation")])
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
    device = pick(rng, run.of("device"))
    for sample in run.of("sample"):
        for gpu in sample["gpus"].values():
            gpu["processes"].pop(str(device["pid"]), None)


@lie("gpu samples", on_gpus)
def _a_trainer_held_no_memory_while_it_trained(run, rng):
    """But before and after."""
    device = pick(rng, run.of("device"))
    times = [
        (told["time"] - told["seconds"], told["time"])
        for told in run.of("round", site=device["site"], rank=device["rank"])
    ]
    seen = [
        sample
        for sample in run.of("sample")
        if any(began + 1 < sample["time"] <= ended for began, ended in times)
    ]
    for sample in pick(rng, [seen] if seen else []):
        sample["gpus"][device["uuid"]]["processes"].pop(str(device["pid"]), None)


@lie("gpu samples", both(on_gpus, processes_by_rank))
def _two_gpus_swapped_in_the_samples(run, rng):
    gpu_uuid, other = rng.sample(run.gpus, 2)
    new = {gpu_uuid: other, other: gpu_uuid}
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
    for moment in run.of("sample"):
        if moment["time"] < sample["time"]:
            moment["gpus"] = clone(sample["gpus"])


@lie("memory", claims("memory_told"), ways=1)
def _no_memory_of_the_server(run, rng):
    for sample in run.of("sample"):
        sample.get("memory_mib", {}).pop("server", None)


@lie("memory", _memory_told)
def _memory_below_zero(run, rng):
    sample = pick(rng, [sample for sample in run.of("sample") if sample.get("memory_mib")])
    sample["memory_mib"][pick(rng, sample["memory_mib"])] = -rng.randint(1, 1000)


@lie("memory", both(_memory_told, of_ours))
def _peak_memory_that_falls(run, rng):
    """It is the most so far."""
    told = [sample for sample in run.of("sample") if sample.get("memory_mib")]
    name = pick(rng, told[-1]["memory_mib"])
    having = [sample for sample in told if name in sample["memory_mib"]]
    if len(having) < 3:
        pick(rng, ())
    having[len(having) // 2]["memory_mib"][name] *= 3


@lie("memory", _memory_told)
def _memory_of_a_site_that_the_run_does_not_have(run, rng):
    sample = pick(rng, [sample for sample in run.of("sample") if sample.get("memory_mib")])
    sample["memory_mib"][rng.choice(("site-9", "", "client"))] = 100


@lie("xid", both(on_gpus, spec2))
def _an_xid_during_the_run(run, rng):
    _, _, gpu = pick(rng, _working(run))
    gpu["xids"] = [pick(rng, (13, 31, 48, 79, 94, 95, 119))]


@lie("xid", both(on_gpus, spec2))
def _an_uncorrected_ecc_error_during_the_run(run, rng):
    uuid = pick(rng, run.gpus)
    looks = [
        sample["gpus"][uuid]
        for sample in run.of("sample")
        if sample["gpus"].get(uuid, {}).get("ecc_uncorrected") is not None
    ]
    if len(looks) < 2:
        pick(rng, ())
    for gpu in looks[rng.randint(1, len(looks) - 1) :]:
        gpu["ecc_uncorrected"] += rng.choice((1, 8))
