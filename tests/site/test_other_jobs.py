"""The other jobs on CPU, as site.yml runs them."""

import pytest
from conftest import play

from rekindle.records import VerdictRecord, read

JOBS = ["lightning_ddp", "tf_mirrored"]


@pytest.fixture(scope="module")
def jobs(local, tmp_path_factory):
    """Return a run of site.yml with every job but pt_ddp."""
    inventory = tmp_path_factory.mktemp("jobs") / "hosts.yml"
    inventory.write_text(local.read_text() + f"      rekindle_jobs: [{', '.join(JOBS)}]\n")
    return play("site.yml", inventory, tmp_path_factory.mktemp("results") / "jobs")


@pytest.mark.parametrize("job", JOBS)
def test_it_passes_on_cpu_in_under_three_minutes(jobs, job):
    verdict = read(jobs.results / "local" / job / "verdict.json", VerdictRecord)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    assert verdict.duration_s < 180
    assert verdict.final_metrics["accuracy"] >= 0.95


def test_the_run_as_a_whole_passes(jobs):
    assert jobs.status == 0, jobs.output
