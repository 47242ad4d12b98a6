"""Claims on GPUs: a run that had them passes, and each claim has one in which it fails."""

import json

import pytest

from rekindle.judge import judge


def _claim(verdict, name):
    return next(one for one in verdict.evidence if one.claim == name)


def _add_gpus(run, *, backend="nccl", utilisation=97, owner=None):
    """Turn the recorded run into one on two GPUs that both sites share."""
    uuids = ["GPU-a", "GPU-b"]
    spec = json.loads((run / "spec.json").read_text())
    for site in spec["sites"]:
        site["gpus"] = uuids
    (run / "spec.json").write_text(json.dumps(spec))
    pids = {uuid: [] for uuid in uuids}
    for path in (run / "evidence").glob("site-*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        uuid = uuids[lines[0]["rank"]]
        lines[0] |= {
            "uuid": uuid,
            "device": f"cuda:{lines[0]['rank']}",
            "backend": backend,
            "name": "NVIDIA H200",
        }
        pids[uuid].append(lines[0]["pid"])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    gpus = {
        uuid: {
            "utilisation": utilisation,
            "used_mib": 900,
            "processes": {str(owner or pid): 450 for pid in pids[uuid]},
        }
        for uuid in uuids
    }
    (run / "samples.jsonl").write_text(json.dumps({"event": "sample", "time": 1.0, "gpus": gpus}) + "\n")


ON_GPUS = [
    ("gpus_busy", {}, True),
    ("gpus_busy", {"utilisation": 0}, False),
    ("gpus_busy", {"owner": 1}, False),
    ("every_rank_on_its_device", {}, True),
    ("every_rank_on_its_device", {"backend": "gloo"}, False),
]


@pytest.mark.parametrize(("claim", "gpus", "holds"), ON_GPUS)
def test_claims_about_gpus(clean_run, claim, gpus, holds):
    _add_gpus(clean_run, **gpus)
    verdict = judge(clean_run)
    assert _claim(verdict, claim).holds is holds
    assert verdict.verdict == ("PASS" if holds else "FAIL")


def test_gpus_without_samples_are_not_proven_busy(clean_run):
    _add_gpus(clean_run)
    (clean_run / "samples.jsonl").unlink()
    assert judge(clean_run).verdict == "UNPROVEN"


def test_devices_carry_what_was_sampled(clean_run):
    _add_gpus(clean_run)
    device = judge(clean_run).devices[0]
    assert (device.uuid, device.mean_utilisation, device.peak_memory_mib) == ("GPU-a", 97.0, 450)
