"""The other jobs on CPU, as site.yml runs them."""

import pytest
from plays import play

from rekindle.records import VerdictRecord, read

JOBS = ["lightning_ddp", "tf_mirrored", "llm_sft", "llm_peft", "tensor_stream"]
SCORED = ["lightning_ddp", "tf_mirrored"]


@pytest.fixture(scope="module")
def jobs(local, tmp_path_factory):
    """Return a run of site.yml with every job but pt_ddp."""
    inventory = tmp_path_factory.mktemp("jobs") / "hosts.yml"
    inventory.write_text(local.read_text() + f"      rekindle_jobs: [{', '.join(JOBS)}]\n")
    return play("site.yml", inventory, tmp_path_factory.mktemp("results") / "jobs", timeout=1500)


def verdict(jobs, job):
    """Return a job's verdict."""
    return read(jobs.results / "local" / job / "verdict.json", VerdictRecord)


@pytest.mark.parametrize("job", JOBS)
def test_it_passes_on_cpu(jobs, job):
    assert (verdict(jobs, job).verdict, verdict(jobs, job).cause) == ("PASS", None)


@pytest.mark.parametrize("job", SCORED)
def test_it_classifies_digits(jobs, job):
    assert verdict(jobs, job).final_metrics["accuracy"] >= 0.95


def test_nvflares_host_memory_is_told_for_every_job(jobs):
    assert all(set(verdict(jobs, job).host_memory_mib) == {"server", "site-1", "site-2"} for job in JOBS)


def test_the_run_as_a_whole_passes(jobs):
    assert jobs.status == 0, jobs.output
