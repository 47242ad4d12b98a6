"""Claims on GPUs: a run that had them passes, and each claim has one in which it fails."""

import json
import math
import shutil
from pathlib import Path

import pytest
from recorded_edits import json_in, result_of

from rekindle.jobs import load_job
from rekindle.judge import judge

RUNS = Path(__file__).parents[2] / "recordings" / "runs"
JOBS = Path(__file__).parents[3] / "flare_jobs"


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
        backend: what the ranks report.
        utilisation: percent, of both GPUs.
        owner: the process that holds their memory in place of the trainers.
        also: a process that holds memory beside the trainers.
        mib: what each process holds.
        time: of the sample with processes; None: as the last round ended.
        idle: the site whose trainers hold nothing.
        shares: percent that each process used of its GPU; None: the driver does not report it.
        on_cpu: the site whose trainers hold memory and do not use it.
    """
    began, trained = math.inf, 0.0
    uuids = ["GPU-a", "GPU-b"]
    with json_in(run / "spec.json") as spec:
        for site in spec["sites"]:
            site["gpus"] = uuids
        spec["gpus"] = [{"uuid": uuid, "index": 0, "name": None, "memory_mib": None} for uuid in uuids]
    pids = {uuid: [] for uuid in uuids}
    idling = set()
    for path in (run / "evidence").glob("site-*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        uuid = uuids[lines[0]["rank"]]
        lines[0] |= {"uuid": uuid, "device": f"cuda:{lines[0]['rank']}"}
        lines[0] |= {"backend": backend, "name": "NVIDIA H200"}
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
    assert result_of(verdict, claim).holds is holds
    assert verdict.verdict == {True: "PASS", False: "FAIL", None: "UNPROVEN"}[holds]


def test_how_much_a_gpu_worked_is_reported():
    message = result_of(judge(RUNS / "pt_ddp-h200-x2-2"), "gpus_used").message
    assert " peaked at 30 % for one of them (1.8 % on average) with 3384 MiB held by its trainers" in message


def test_the_old_name_of_the_claim_is_known(tmp_path):
    job = (JOBS / "pt_ddp" / "job.yml").read_text()
    for name in ("gpus_busy", "gpus_used"):
        (tmp_path / "pt_ddp").mkdir(exist_ok=True)
        (tmp_path / "pt_ddp" / "job.yml").write_text(job.replace("gpus_used", name))
        assert load_job(tmp_path, "pt_ddp").name == "pt_ddp"


def test_one_gpu_that_no_trainer_reported_did_not_work(clean_run):
    _add_gpus(clean_run)
    path = clean_run / "spec.json"
    path.write_text(path.read_text().replace("GPU-b", "GPU-c"))
    busy = result_of(judge(clean_run), "gpus_used")
    assert (busy.holds, busy.message) == (False, "GPU-c was reported by no trainer.")


@pytest.mark.parametrize("run", sorted(RUNS.glob("*-h200-*")), ids=lambda run: run.name)
def test_each_recorded_gpu_that_idles_is_caught(tmp_path, run):
    """Of a real run, one GPU after the other is made to do nothing while its trainers hold their memory."""
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    lines = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    by_process = any(gpu.get("process_utilisation") for line in lines for gpu in line["gpus"].values())
    still = {"utilisation": 0, "process_utilisation": {} if by_process else None}
    for uuid in {uuid for line in lines for uuid in line["gpus"]}:
        idle = [{**line, "gpus": {**line["gpus"], uuid: {**line["gpus"][uuid], **still}}} for line in lines]
        (copy / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in idle))
        busy = result_of(judge(copy), "gpus_used")
        assert busy.holds is False
        assert uuid in busy.message


def test_devices_carry_what_was_sampled(clean_run):
    _add_gpus(clean_run)
    device = judge(clean_run).devices[0]
    assert (device.uuid, device.mean_utilisation, device.peak_memory_mib) == ("GPU-a", 97.0, 450)


def test_a_gpu_that_tensorflow_does_not_name_has_the_name_that_preflight_saw():
    assert {device.name for device in judge(RUNS / "tf_mirrored-h200-x2").devices} == {"NVIDIA H200"}
