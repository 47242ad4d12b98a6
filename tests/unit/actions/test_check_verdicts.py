"""Whether a host's required jobs have a PASS at home, by the records alone."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from report_folders import FAIL, HOST, PASS, PLAN

from rekindle.records import LeaseRecord, write


@pytest.fixture
def check(load, tmp_path):
    """Check the verdict on the host's only job, which is written if there is one."""

    def run(verdict=None):
        if verdict:
            write(tmp_path / "pt_ddp" / "verdict.json", verdict)
        return load("check_verdicts").run({"folder": str(tmp_path), "jobs": ["pt_ddp"]}, host="gpu-1")

    return run


def test_a_pass_is_enough(check):
    assert check(PASS) == {"failed": False, "msg": "Every required job passed."}


def test_a_job_that_nobody_requires_may_fail(check):
    assert check(replace(FAIL, host="gpu-1", required=False))["failed"] is False


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (
            replace(FAIL, host="gpu-1"),
            "pt_ddp is FAIL: Final accuracy 0.4, at least 0.95 asked. Fix: Train longer.",
        ),
        (
            replace(PASS, host="gpu-2"),
            "pt_ddp has no verdict: It is of pt_ddp on gpu-2. Fix: ",
        ),
        (
            replace(PASS, job="llm_sft"),
            "pt_ddp has no verdict: It is of llm_sft on gpu-1. Fix: have it ",
        ),
        (replace(PASS, evidence=()), "pt_ddp has no verdict: It says PASS without evidence "),
        (replace(PASS, rounds=()), "pt_ddp has no verdict: It says PASS of what never ran. "),
        (None, "verdict.json does not exist. Fix: "),
    ],
)
def test_anything_else_fails_with_its_reason(check, verdict, said):
    result = check(verdict)
    assert result["failed"] is True
    assert said in result["msg"]


def test_every_job_that_did_not_pass_is_named(load, tmp_path):
    write(tmp_path / "pt_ddp" / "verdict.json", PASS)
    args = {"folder": str(tmp_path), "jobs": ["pt_ddp", "llm_sft", "tf_mirrored"]}
    said = load("check_verdicts").run(args, host="gpu-1")["msg"].splitlines()
    assert [name in line for name, line in zip(("llm_sft", "tf_mirrored"), said, strict=True)] == [True, True]


@pytest.fixture
def foresee(load, tmp_path):
    """Ask under check what would become of the host's only job."""

    def run(plan=PLAN, ends=None):
        for name, record in {"host": HOST, "plan": plan}.items():
            write(tmp_path / f"{name}.json", record)
        write(tmp_path / "lease.json", LeaseRecord(host="gpu-1", started="2026-11-21T02:00:00Z", ends=ends))
        args = {"folder": str(tmp_path), "jobs": ["pt_ddp"]}
        task = SimpleNamespace(action="check_verdicts", args=args, check_mode=True)
        return load("check_verdicts").run(args, host="gpu-1", _task=task)

    return run


def test_under_check_a_job_that_could_run_is_enough(foresee):
    assert foresee() == {"failed": False, "msg": "Every required job could run."}


def test_under_check_a_job_of_the_users_own_is_read_where_it_lies(foresee, tmp_path):
    own = {"pt_ddp": str(tmp_path / "gone" / "job.yml")}
    assert f"{own['pt_ddp']} cannot be read: " in foresee(replace(PLAN, own=own))["msg"]


def test_under_check_a_lease_that_has_ended_fails(foresee):
    result = foresee(ends="2026-11-21T03:00:00Z")
    assert result["failed"] is True
    assert "pt_ddp takes about 60 s and 0 s are left. Fix: " in result["msg"]


def test_under_check_a_job_whose_framework_is_refused_fails(foresee):
    refused = replace(PLAN.environments[0], build=None, refusal="No build. Fix: another driver.")
    result = foresee(replace(PLAN, environments=(refused,)))
    assert (result["failed"], result["msg"]) == (True, "No build. Fix: another driver.")
