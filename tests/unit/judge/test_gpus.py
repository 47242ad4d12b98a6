# SPDX-License-Identifier: Apache-2.0
"""Claims on GPUs: a run that had them passes, and each claim has one in which it fails."""

import shutil
from pathlib import Path

import pytest
from samples.edits import each_event, lines_in, put_lines, replaced, result_of

from rekindle.judge import judge_run

RUNS = Path(__file__).parents[2] / "recordings" / "runs"


SITE_2 = ("991", "992")
"""PIDs of its trainers, in the recorded run of two sites on two GPUs that both share."""


@pytest.fixture
def run(tmp_path):
    """Return a copy of it."""
    return Path(shutil.copytree(RUNS / "pt_ddp-h100-x2", tmp_path / "run"))


def sampled(change):
    """Return what alters each GPU in every sample."""
    return each_event("samples.jsonl", lambda sample: [change(gpu) for gpu in sample["gpus"].values()])


def figures(**changed):
    """Return what changes a GPU's figures; a dictionary alters each process's that it has."""

    def change(gpu):
        for name, value in changed.items():
            gpu[name] = gpu[name] | value if isinstance(value, dict) else value

    return sampled(change)


def of_one(**changed):
    """Return what changes figures of the last GPU in every sample."""
    return each_event("samples.jsonl", lambda sample: sample["gpus"][max(sample["gpus"])].update(changed))


def on_cpu(run):
    """Have every rank report that it ran on the CPU."""
    for path in (run / "evidence").glob("site-*.jsonl"):
        device, *rounds = lines_in(path)
        cpu = {"uuid": None, "name": None, "device": "cpu", "backend": "gloo"}
        put_lines(path, [{**device, **cpu}, *rounds])


def idle(*pids):
    """Return what has these processes hold memory and not use the GPU; all of them, if none is named."""
    return sampled(lambda gpu: gpu["process_utilisation"].update(dict.fromkeys(pids or gpu["processes"], 0)))


def without_site_2(gpu):
    for pid in SITE_2:
        gpu["processes"].pop(pid, None)


SHARED = {"processes": {"1": 450}}
BY_GPU = {"process_utilisation": None}
"""As drivers have it that do not report what each process used."""
OF_MIG = {"utilisation": None, "memory_utilisation": None}
"""As NVML has it of MIG instances: only who holds memory shows work there."""
ON_GPUS = [
    ("gpus_used", figures(**BY_GPU), "holds"),
    ("gpus_used", figures(**BY_GPU, **OF_MIG), "holds"),
    ("gpus_used", figures(**BY_GPU, **OF_MIG, processes={"991": 0, "992": 0}), "unknown"),
    ("gpus_used", sampled(lambda gpu: gpu.update(processes={"1": 450}, **BY_GPU, **OF_MIG)), "fails"),
    ("gpus_used", figures(**BY_GPU, utilisation=0), "fails"),
    ("gpus_used", sampled(lambda gpu: gpu.update(processes={"1": 450}, **BY_GPU)), "fails"),
    ("gpus_used", sampled(without_site_2), "fails"),
    ("gpus_used", figures(**BY_GPU, **SHARED), "unknown"),
    ("gpus_used", figures(**BY_GPU, **SHARED, utilisation=0), "fails"),
    ("gpus_used", sampled(lambda gpu: gpu.update(processes=dict.fromkeys(gpu["processes"], 0))), "unknown"),
    ("gpus_used", each_event("samples.jsonl", lambda sample: sample.update(time=1.0)), "unknown"),
    ("gpus_used", replaced("samples.jsonl", r'.*"time":17957939[9].*\n|.*"time":179579400.*\n'), "unknown"),
    ("gpus_used", figures(), "holds"),
    ("gpus_used", figures(**SHARED, utilisation=0), "holds"),
    ("gpus_used", idle(), "fails"),
    ("gpus_used", idle(*SITE_2), "unknown"),
    ("every_rank_on_its_device", figures(), "holds"),
    ("gpus_used", of_one(processes={"1": 9000}), "fails"),
    ("every_rank_on_its_device", replaced("evidence/site-2.rank-0.jsonl", "nccl", "gloo"), "fails"),
    (
        "every_rank_on_its_device",
        replaced("evidence/site-1.rank-1.jsonl", '"GPU-[^"]*"', '"GPU-stolen"'),
        "fails",
    ),
    ("every_rank_on_its_device", on_cpu, "fails"),
]


IDS = [f"{claim} {number}" for number, (claim, *_) in enumerate(ON_GPUS, 1)]


@pytest.mark.parametrize(("claim", "change", "state"), ON_GPUS, ids=IDS)
def test_claims_about_gpus(golden, run, claim, change, state):
    change(run)
    verdict = judge_run(run)
    assert result_of(verdict, claim).state == state
    assert verdict.verdict == {"holds": "PASS", "fails": "FAIL", "unknown": "UNPROVEN"}[state]
    golden(str(verdict.cause))


def test_how_much_a_gpu_worked_is_reported():
    message = result_of(judge_run(RUNS / "pt_ddp-h100-x2"), "gpus_used").message
    assert "site-1 rank 1 1698 MiB and 43 %, site-2 rank 1 1698 MiB and 23 %" in message


def test_one_gpu_that_no_trainer_reported_did_not_work(run):
    replaced("spec.json", 'GPU-6064da05[^"]+', "GPU-c")(run)
    busy = result_of(judge_run(run), "gpus_used")
    assert busy.state in {"fails", "unknown"}
    assert "GPU-c was not sampled from the first task to the last result" in busy.message


@pytest.mark.parametrize("run", sorted(RUNS.glob("*-h100-*")), ids=lambda run: run.name)
def test_each_recorded_gpu_that_idles_is_caught(tmp_path, run):
    """Of a real run, one GPU after the other is made to do nothing while its trainers hold their memory."""
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    lines = lines_in(run / "samples.jsonl")
    by_process = any(gpu.get("process_utilisation") for line in lines for gpu in line["gpus"].values())
    still = {"utilisation": 0, "process_utilisation": {} if by_process else None}
    for uuid in {uuid for line in lines for uuid in line["gpus"]}:
        idle = [{**line, "gpus": {**line["gpus"], uuid: {**line["gpus"][uuid], **still}}} for line in lines]
        put_lines(copy / "samples.jsonl", idle)
        busy = result_of(judge_run(copy), "gpus_used")
        assert busy.state == "fails"
        assert uuid in busy.message


def test_a_rank_that_never_worked_where_the_others_did_is_no_pass(run):
    idle("986")(run)
    used = result_of(judge_run(run), "gpus_used")
    assert used.message.startswith("site-1 rank 0 was never seen at work on GPU-7adef50f")
    assert used.state == "unknown"


def test_devices_carry_what_was_sampled(run):
    device = judge_run(run).devices[0]
    assert device.uuid == "GPU-7adef50f-fa15-354c-8f53-edca705c6a63"
    assert device.peak_memory_mib == 1698
    assert 0 < device.mean_utilisation < 100


def test_a_rank_on_the_device_cpu_did_not_run_on_its_gpu(tmp_path):
    run = Path(shutil.copytree(RUNS / "pt_ddp-h100-x2", tmp_path / "run"))
    replaced("evidence/site-1.rank-1.jsonl", r'"cuda:\d"', '"cpu"')(run)
    result = result_of(judge_run(run), "every_rank_on_its_device")
    assert result.state == "fails"
    assert "site-1 rank 1 ran on CPU with nccl" in result.message
