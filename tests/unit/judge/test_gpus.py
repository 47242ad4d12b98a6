"""Claims on GPUs: a run that had them passes, and each claim has one in which it fails."""

import json
import math
import shutil
from pathlib import Path

import pytest

from rekindle.jobs import load_job
from rekindle.judge import judge

RUNS = Path(__file__).parents[2] / "recordings" / "runs"
JOBS = Path(__file__).parents[3] / "flare_jobs"


def _claim(verdict, name):
    return next(result for result in verdict.evidence if result.claim == name)


def _add_gpus(  # noqa: PLR0913 - each is one way in which GPUs were not used
    run,
    *,
    backend="nccl",
    utilisation=97,
    owner=None,
    also=None,
    mib=450,
    time=None,
    idle=None,
    shares=None,
    on_cpu=None,
):
    """Turn the recorded run into one on two GPUs that both sites share.

    Args:
        run: its folder.
        backend: what the ranks say that they used.
        utilisation: percent, of both GPUs.
        owner: the process that holds their memory in place of the trainers.
        also: a process that holds memory beside the trainers.
        mib: what each process holds.
        time: of the sample with processes; None: as the last round ended.
        idle: the site whose trainers hold nothing.
        shares: percent that each process used of its GPU; None: the driver did not tell.
        on_cpu: the site whose trainers hold memory and do not use it.
    """
    began, trained = math.inf, 0.0
    uuids = ["GPU-a", "GPU-b"]
    spec = json.loads((run / "spec.json").read_text())
    for site in spec["sites"]:
        site["gpus"] = uuids
    spec["gpus"] = [{"uuid": uuid, "index": 0, "name": None, "memory_mib": None} for uuid in uuids]
    (run / "spec.json").write_text(json.dumps(spec))
    pids = {uuid: [] for uuid in uuids}
    idling = set()
    for path in (run / "evidence").glob("site-*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        uuid = uuids[lines[0]["rank"]]
        lines[0] |= {
            "uuid": uuid,
            "device": f"cuda:{lines[0]['rank']}",
            "backend": backend,
            "name": "NVIDIA H200",
        }
        began, trained = min(began, lines[0]["time"]), max(trained, lines[-1]["time"])
        if lines[0]["site"] != idle:
            pids[uuid].append(owner or lines[0]["pid"])
        if lines[0]["site"] == on_cpu:
            idling.add(lines[0]["pid"])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    gpus = {
        uuid: {
            "utilisation": utilisation,
            "used_mib": 4096,
            "xids": [],
            "processes": {str(pid): mib for pid in [*pids[uuid], *([also] if also else [])]},
            "process_utilisation": None
            if shares is None
            else {str(pid): 0 if pid in idling else shares for pid in pids[uuid]},
        }
        for uuid in uuids
    }
    nothing = {"utilisation": 0, "used_mib": 615, "processes": {}, "xids": []}
    samples = [
        {"event": "sample", "nonce": spec["nonce"], "time": at, "gpus": sampled}
        for at, sampled in ((began, dict.fromkeys(uuids, nothing)), (time or trained, gpus))
    ]
    (run / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))


ON_GPUS = [
    ("gpus_used", {}, True),
    ("gpus_used", {"utilisation": 0}, False),
    ("gpus_used", {"owner": 1}, False),
    ("gpus_used", {"idle": "site-2"}, False),
    ("gpus_used", {"also": 1}, None),
    ("gpus_used", {"also": 1, "utilisation": 0}, False),
    ("gpus_used", {"mib": 0}, None),
    ("gpus_used", {"time": 1.0}, None),
    ("gpus_used", {"shares": 9}, True),
    ("gpus_used", {"shares": 9, "utilisation": 0, "also": 1}, True),
    ("gpus_used", {"shares": 0}, False),
    ("gpus_used", {"shares": 9, "on_cpu": "site-2"}, None),
    ("every_rank_on_its_device", {}, True),
    ("every_rank_on_its_device", {"backend": "gloo"}, False),
]


@pytest.mark.parametrize(("claim", "gpus", "holds"), ON_GPUS)
def test_claims_about_gpus(clean_run, claim, gpus, holds):
    _add_gpus(clean_run, **gpus)
    verdict = judge(clean_run)
    assert _claim(verdict, claim).holds is holds
    assert verdict.verdict == {True: "PASS", False: "FAIL", None: "UNPROVEN"}[holds]


def test_how_much_a_gpu_worked_is_said():
    said = _claim(judge(RUNS / "pt_ddp-h200-x2-2"), "gpus_used").says
    assert " peaked at 30 % for one of them (1.8 % on average) with 3384 MiB held by its trainers" in said


def test_the_name_that_the_claim_had_is_known_in_jobs_and_runs(tmp_path):
    job = (JOBS / "pt_ddp" / "job.yml").read_text()
    for name in ("gpus_busy", "gpus_used"):
        (tmp_path / "pt_ddp").mkdir(exist_ok=True)
        (tmp_path / "pt_ddp" / "job.yml").write_text(job.replace("gpus_used", name))
        assert load_job(tmp_path, "pt_ddp").name == "pt_ddp"


def test_gpus_without_samples_are_not_proven_busy(clean_run):
    _add_gpus(clean_run)
    (clean_run / "samples.jsonl").unlink()
    assert judge(clean_run).verdict == "UNPROVEN"


def test_one_gpu_that_no_trainer_reported_did_not_work(clean_run):
    _add_gpus(clean_run)
    path = clean_run / "spec.json"
    path.write_text(path.read_text().replace("GPU-b", "GPU-c"))
    busy = _claim(judge(clean_run), "gpus_used")
    assert (busy.holds, busy.says) == (False, "GPU-c was reported by no trainer.")


def test_gpus_of_a_run_whose_trainers_said_nothing_cannot_be_told(clean_run):
    _add_gpus(clean_run)
    for path in (clean_run / "evidence").glob("site-*.jsonl"):
        path.unlink()
    assert _claim(judge(clean_run), "gpus_used").holds is None


@pytest.mark.parametrize("run", sorted(RUNS.glob("*-h200-*")), ids=lambda run: run.name)
def test_each_recorded_gpu_that_idles_is_caught(tmp_path, run):
    """Of a real run, one GPU after the other is made to do nothing while its trainers hold their memory."""
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    lines = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    told = any(gpu.get("process_utilisation") for line in lines for gpu in line["gpus"].values())
    still = {"utilisation": 0, "process_utilisation": {} if told else None}
    for uuid in {uuid for line in lines for uuid in line["gpus"]}:
        idle = [{**line, "gpus": {**line["gpus"], uuid: {**line["gpus"][uuid], **still}}} for line in lines]
        (copy / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in idle))
        busy = _claim(judge(copy), "gpus_used")
        assert busy.holds is False
        assert uuid in busy.says


def test_devices_carry_what_was_sampled(clean_run):
    _add_gpus(clean_run)
    device = judge(clean_run).devices[0]
    assert (device.uuid, device.mean_utilisation, device.peak_memory_mib) == ("GPU-a", 97.0, 450)


def test_a_gpu_that_tensorflow_does_not_name_has_the_name_that_preflight_saw():
    assert {device.name for device in judge(RUNS / "tf_mirrored-h200-x2").devices} == {"NVIDIA H200"}
