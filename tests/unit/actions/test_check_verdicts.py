# SPDX-License-Identifier: Apache-2.0
"""Whether a host's required jobs have a PASS at home, by the records alone."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, HOST, PASS, PLAN

from rekindle.records import LeaseRecord, write_record

FAILED = replace(FAIL, host="gpu-1")


@pytest.fixture
def check(load, tmp_path):
    """Check the verdict on the host's only job, which is written if there is one."""

    def run(verdict=None):
        if verdict:
            write_record(tmp_path / "pt_ddp" / "verdict.json", verdict)
        return load("check_verdicts").run({"folder": str(tmp_path), "jobs": ["pt_ddp"]}, host="gpu-1")

    return run


def test_a_pass_or_what_nobody_requires_is_enough(check):
    assert check(PASS) == {"msg": "Every required job passed."}
    assert check(replace(FAILED, required=False)) == {"msg": "Every required job passed."}


@pytest.mark.parametrize(
    "verdict",
    [
        FAILED,
        replace(PASS, host="gpu-2"),
        replace(PASS, job="llm_sft"),
        replace(PASS, evidence=()),
        replace(PASS, rounds=()),
        None,
    ],
    ids=["failed", "host", "job", "no evidence", "no rounds", "none"],
)
def test_anything_else_fails_with_its_reason(golden, check, verdict):
    result = check(verdict)
    assert result["failed"] is True
    golden(result["msg"])


def test_every_job_that_did_not_pass_is_named(load, tmp_path):
    write_record(tmp_path / "pt_ddp" / "verdict.json", PASS)
    args = {"folder": str(tmp_path), "jobs": ["pt_ddp", "llm_sft", "tf_mirrored"]}
    first, second = load("check_verdicts").run(args, host="gpu-1")["msg"].splitlines()
    assert "llm_sft" in first
    assert "tf_mirrored" in second


@pytest.fixture
def foresee(load, tmp_path):
    """Ask under check what would become of the host's only job."""

    def run(plan=PLAN, ends=None):
        for name, record in {"host": HOST, "plan": plan}.items():
            write_record(tmp_path / f"{name}.json", record)
        write_record(
            tmp_path / "lease.json", LeaseRecord(host="gpu-1", started="2026-11-21T02:00:00Z", ends=ends)
        )
        args = {"folder": str(tmp_path), "jobs": ["pt_ddp"]}
        task = SimpleNamespace(args=args, check_mode=True)
        return load("check_verdicts").run(args, host="gpu-1", _task=task)

    return run


def test_under_check_a_job_that_could_run_is_enough(foresee):
    assert foresee() == {"msg": "Every required job could run."}


def test_under_check_a_job_that_could_not_fails(golden, foresee, tmp_path):
    refused = replace(PLAN.environments[0], build=None, refusal="No build. Fix: another driver.")
    results = [
        foresee(replace(PLAN, own={"pt_ddp": str(tmp_path / "gone" / "job.yml")})),
        foresee(ends="2026-11-21T03:00:00Z"),
        foresee(replace(PLAN, environments=(refused,))),
    ]
    assert all(result["failed"] for result in results)
    golden(*(result["msg"] for result in results))
