# SPDX-License-Identifier: Apache-2.0
"""The rule on the GPUs of examples: a recorded example, with the samples of a recorded run on two H200s."""

import shutil

import pytest
from samples.edits import each_event, events, json_in, lines_in, put_lines, result_of

from rekindle.judge import judge_run

RULE = "gpus_used"
BEHIND = 4
"""The example's training begins so many samples after the run's on GPUs."""
TRAINERS = {"site-1": [1772, 1773], "site-2": [1768, 1769]}
"""PIDs in the run on GPUs, where each site has one on each."""
FIRST, SECOND = "GPU-66523f83-05b4-693e-3804-98c3214e7dbd", "GPU-70a5ded9-65eb-ad6c-00c7-e000a34780e8"


@pytest.fixture
def example(recordings, tmp_path):
    """Return a copy of the recorded example, with two GPUs on which both sites' trainers worked."""
    run = shutil.copytree(recordings / "examples" / "hello-numpy", tmp_path / "run")
    with json_in(run / "spec.json") as spec:
        gpu = {"name": "NVIDIA H200", "memory_mib": 143771}
        spec["gpus"] = [{**gpu, "uuid": uuid, "index": index} for index, uuid in enumerate((FIRST, SECOND))]
        for site in spec["sites"]:
            site.update(ranks=2, gpus=[FIRST, SECOND])
        spec["job"]["ranks_per_site"] = 2
    on_gpus = lines_in(recordings / "h200-x2-samples.jsonl")
    samples = lines_in(run / "samples.jsonl")
    for number, sample in enumerate(samples):
        there = "site-1" in sample["worked"]
        sample["gpus"] = on_gpus[min(number - BEHIND, len(on_gpus) - 1) if there else 0]["gpus"]
        for gpu in sample["gpus"].values():
            gpu.update(xids=[], ecc_uncorrected=0)
        for site, pids in TRAINERS.items() if there else ():
            sample["worked"][site]["pids"] += pids
    put_lines(run / "samples.jsonl", samples)
    return run


def of_samples(change):
    """Return what alters every sample."""
    return each_event("samples.jsonl", change)


def of_gpus(change, *uuids):
    """Return what alters these GPUs in every sample, or all."""
    return of_samples(lambda sample: [change(sample["gpus"][uuid]) for uuid in uuids or sample["gpus"]])


def after(moment, change):
    """Return what alters the GPUs of the samples that are later, in seconds since the epoch."""
    return of_samples(lambda sample: change(sample["gpus"]) if sample["time"] > moment else None)


def idle(gpu):
    """Nobody used it."""
    gpu.update(utilisation=0, used_mib=615, processes={}, process_utilisation={})


def held(gpu):
    """It was held, and never busy."""
    gpu.update(utilisation=0, process_utilisation=dict.fromkeys(gpu["processes"], 0))


def context(gpu, time):
    """It was held from within the first task on, and busy in the two samples that make contexts."""
    if time < 1795359518:
        idle(gpu)
    else:
        held(gpu)
        gpu.update(process_utilisation=dict.fromkeys(gpu["processes"], 3 if time < 1795359520 else 0))


def only_in_all(gpu):
    """NVML reports no work by process."""
    gpu.update(process_utilisation=None)


def renamed(shift, pids=()):
    """Return what gives processes other PIDs: these, or all."""

    def change(gpu):
        for figures in (gpu["processes"], gpu["process_utilisation"] or {}):
            for pid in [pid for pid in figures if not pids or int(pid) in pids]:
                figures[str(int(pid) + shift)] = figures.pop(pid)

    return change


def unlisted(gpu):
    """NVML lists no process."""
    gpu.update(processes={}, process_utilisation={})


def both(*changes):
    """Return what makes all these changes."""
    return lambda run: [change(run) for change in changes]


def job(**changes):
    """Return what alters the job's description; ``example`` is a part of it."""

    def altered(run):
        with json_in(run / "spec.json") as spec:
            spec["job"]["example"] |= changes.pop("example", {})
            spec["job"] |= changes

    return altered


def seen_before(gpu):
    """Another's process was there all along."""
    gpu["processes"]["77"] = 100
    gpu["used_mib"] += 100


BEFORE_THE_TASK = 1795359517.3
LIES = {
    "one of two GPUs was idle": (of_gpus(idle, SECOND), "fails"),
    "both were": (of_gpus(idle), "fails"),
    "one worked for another's processes": (of_gpus(renamed(90000), SECOND), "fails"),
    "one worked for one site alone": (of_gpus(renamed(90000, TRAINERS["site-2"]), SECOND), "fails"),
    "all were another's that was there before": (both(of_gpus(idle), of_gpus(seen_before)), "fails"),
    "one was held and never busy": (of_gpus(held, SECOND), "fails"),
    "one was, by its own figures": (both(of_gpus(held, SECOND), of_gpus(only_in_all, SECOND)), "fails"),
    "one was busy before the first task alone": (
        after(BEFORE_THE_TASK, lambda gpus: held(gpus[SECOND])),
        "fails",
    ),
    "one was busy as contexts were made alone": (
        of_samples(lambda sample: context(sample["gpus"][SECOND], sample["time"])),
        "fails",
    ),
    "one site never worked on one": (
        of_gpus(lambda gpu: gpu["process_utilisation"].pop("1768", 0), SECOND),
        "unknown",
    ),
    "memory is unknown": (
        of_gpus(lambda gpu: gpu.update(processes=dict.fromkeys(gpu["processes"], 0))),
        "unknown",
    ),
    "one was sampled no more": (after(BEFORE_THE_TASK, lambda gpus: gpus.pop(SECOND)), "unknown"),
    "samples end early": (after(1795359520, dict.clear), "unknown"),
    "GPUs were not sampled": (after(0, dict.clear), "unknown"),
    "no PIDs of sites are known": (of_samples(lambda sample: sample["worked"].clear()), "unknown"),
}
"""What was altered, and the result of the check then."""
CANNOT_KNOW = {
    "NVML lists PIDs of another namespace": of_gpus(renamed(90000)),
    "NVML lists none, and the GPUs worked": of_gpus(unlisted),
}
"""As in a container with a PID namespace of its own."""


def _result(run):
    verdict = judge_run(run)
    return verdict, result_of(verdict, RULE)


def test_the_use_of_each_gpu_by_each_site_is_reported(golden, example):
    verdict, result = _result(example)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    golden(result.message)
    assert (result.file, result.line) == ("samples.jsonl", 27)


def test_without_work_by_process_the_gpus_own_counts(golden, example):
    of_gpus(only_in_all)(example)
    verdict, result = _result(example)
    assert verdict.verdict == "PASS"
    golden(result.message)


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_no_pass(golden, example, lie):
    change, state = LIES[lie]
    change(example)
    verdict, result = _result(example)
    assert result.state == state
    golden(result.message)
    assert verdict.verdict != "PASS"
    if state == "fails":
        assert (verdict.verdict, verdict.cause) == ("FAIL", result.message)


@pytest.mark.parametrize("where", CANNOT_KNOW)
def test_pids_that_cannot_be_matched_are_no_failure(golden, example, where):
    CANNOT_KNOW[where](example)
    verdict, result = _result(example)
    assert (verdict.verdict, result.state) == ("UNPROVEN", "unknown")
    golden(result.message)


def test_a_training_too_short_for_samples_is_no_failure(example):
    of_gpus(idle)(example)
    early = lambda event: event | {"time": min(event["time"], 1795359519.0)}  # noqa: E731
    events(example / "evidence" / "server.jsonl", early)
    result = _result(example)[1]
    assert result.state == "unknown"
    assert "in the 1.0 s from the first task to the last result" in result.message


@pytest.mark.parametrize("needs", [{"gpus": 1}, {"command": ["job.py", "--gpu", "{gpus}"]}])
def test_one_rank_a_site_has_to_use_a_gpu_where_the_description_asks_for_it(example, needs):
    of_gpus(idle)(example)
    job(ranks_per_site=1, example=needs)(example)
    assert _result(example)[1].state == "fails"


@pytest.mark.parametrize("unused", [(), (SECOND,)], ids=["both", "one"])
def test_a_job_whose_description_asks_for_none_may_use_none(golden, example, unused):
    of_gpus(idle, *unused)(example)
    job(ranks_per_site=1)(example)
    result = _result(example)[1]
    assert result.state == "holds"
    golden(result.message)


def test_a_run_without_gpus_is_exempt(recordings):
    assert _result(recordings / "examples" / "hello-numpy")[1].message == "The run was given no GPU."
