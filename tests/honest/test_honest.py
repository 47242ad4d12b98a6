"""Honest jobs of users that look odd: each passes."""

import pytest
from own_jobs import OwnJob

JOBS = (
    OwnJob("sites_with_names", "named_sites"),
    OwnJob("two_simulations", "two_recipes"),
    OwnJob("scikit_learn", "sklearn_sgd"),
)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_an_honest_job_passes(judged, job):
    verdict = judged[job].result()
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
