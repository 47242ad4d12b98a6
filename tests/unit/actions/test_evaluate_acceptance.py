# SPDX-License-Identifier: Apache-2.0
"""Which hosts go no further as their GPUs failed, and which GPUs no job runs on."""

import json
from datetime import datetime, timezone

import pytest
import yaml
from msgspec.structs import replace
from runners.plays import REPOSITORY
from samples.folders import PASS

from rekindle.jobs import lease
from rekindle.judge.measurements import judge_measurements
from rekindle.judge.opener import open_run
from rekindle.records import HostRecord, PlacedRecord, PlanRecord, dump_builtins, read_record, write_record
from rekindle.records.acceptance import ACCEPTANCE


@pytest.fixture
def accepted(home, recordings):
    """Return a function that gives the host the recorded acceptance, with a verdict of its own."""

    def answer(kind="FAIL", failed=(), name="product_differs"):
        plan, host = read_record(home / "plan.json", PlanRecord), read_record(home / "host.json", HostRecord)
        write_record(home / "plan.json", replace(plan, jobs=("acceptance", "pt_ddp")))
        text = json.dumps(dump_builtins(judge_measurements(open_run(recordings / "acceptance" / "h200-x2"))))
        for index, gpu in enumerate(json.loads(text)["gpus"]):
            text = text.replace(gpu["uuid"], host.gpus[index].uuid)
        record = json.loads(text)
        for measurement in record["measurements"]:
            if measurement["gpu"] in failed and measurement["name"] == name:
                measurement.update(value=3.0, holds=False, again=[{"value": 3.0, "holds": False}])
        (home / "acceptance.json").write_text(json.dumps(record))
        words = {} if kind == "PASS" else {"cause": "GPU 0 is slow.", "remedy": "Replace it."}
        verdict = replace(PASS, job="acceptance", host="h200", verdict=kind, **words)
        write_record(home / "acceptance" / "verdict.json", verdict)

    return answer


@pytest.fixture
def hold(load, home):
    """Return a function that holds the host to its acceptance."""
    return lambda gate: load("evaluate_acceptance").run({"folder": str(home), "gate": gate}, host="h200")


@pytest.fixture
def uuids(home):
    return [gpu.uuid for gpu in read_record(home / "host.json", HostRecord).gpus]


def test_the_role_measures_by_the_jobs_that_the_records_name_and_its_gate_is_faults():
    defaults = yaml.safe_load((REPOSITORY / "roles/settings/defaults/main.yml").read_text())
    assert defaults["_rekindle_acceptance"] == [*ACCEPTANCE.values()]
    assert defaults["rekindle_accept_gate"] == "faults"


@pytest.mark.parametrize(
    "name", ["product_differs", "memory_errors", "ecc_uncorrected", "remap_failed", "xids"]
)
def test_a_wrong_result_bad_memory_and_an_xid_keep_jobs_away_by_default(accepted, hold, uuids, name):
    accepted("FAIL", failed=uuids[:1], name=name)
    assert hold("faults")["failed"] is True


@pytest.mark.parametrize("name", ["host_to_device", "bf16_matmul", "memory_in_use_before", "pcie_width"])
def test_a_slow_figure_keeps_no_job_away_by_default(accepted, hold, uuids, name):
    accepted("FAIL", failed=uuids[:1], name=name)
    answer = hold("faults")
    assert "failed" not in answer
    assert answer["msg"] == "acceptance is FAIL: GPU 0 is slow. Jobs run, as no result of its GPUs is wrong."
    assert hold("host")["failed"] is True


def test_measuring_that_failed_or_hung_keeps_jobs_away_by_default(accepted, hold, home, uuids):
    accepted("FAIL")  # by something else than its figures
    assert hold("faults")["failed"] is True
    accepted("HUNG", failed=uuids, name="bf16_matmul")
    assert hold("faults")["failed"] is True
    accepted("FAIL")
    (home / "acceptance.json").unlink()
    assert hold("faults")["failed"] is True


@pytest.mark.parametrize("kind", ["FAIL", "HUNG"])
def test_a_host_whose_gpus_failed_goes_no_further(accepted, hold, kind):
    accepted(kind)
    answer = hold("host")
    assert answer["failed"]
    both = {"message": f"acceptance is {kind}: GPU 0 is slow.", "fix": "Replace it."}
    assert answer["complaint"] == both


@pytest.mark.parametrize(
    ("kind", "gate"), [("PASS", "host"), ("UNPROVEN", "host"), ("UNPROVEN", "faults"), ("FAIL", "off")]
)
def test_it_goes_on_where_no_gpu_failed_or_nobody_cares(accepted, hold, kind, gate):
    accepted(kind)
    assert "failed" not in hold(gate)


@pytest.mark.usefixtures("own_state")
def test_jobs_run_on_the_gpus_that_did_not_fail(accepted, hold, load, home, on_host):
    uuids = [gpu.uuid for gpu in read_record(home / "host.json", HostRecord).gpus]
    accepted("FAIL", failed=uuids)
    assert hold("gpu")["failed"] is True
    accepted("FAIL", failed=uuids[:1])
    assert hold("gpu")["msg"] == "1 of 2 GPUs failed, and jobs run on the others."
    lease.write_lease(home, "h200", datetime.now(timezone.utc), None)
    for gate, given in (("gpu", set(uuids[1:])), ("host", set(uuids))):
        args = {
            "folder": str(home),
            "job": "pt_ddp",
            "tmpdir": "/tmp/rekindle/tmp",
            "arguments": {},
            "sizes": {},
        }
        args |= {"rerun": False, "max_age": "", "checkout": "", "gate": gate, **on_host[0]}
        load("place_job").run(args, host="h200", **on_host[1])
        sites = read_record(home / "pt_ddp.placed.json", PlacedRecord).spec.sites
        assert {uuid for site in sites for uuid in site.gpus} == given
