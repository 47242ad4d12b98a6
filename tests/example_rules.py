"""Which checks are of examples alone; tests/unit/judge/test_example_lies.py has their lies."""

from functools import cache

from plays import REPOSITORY

from rekindle.jobs import example_names, load_job
from rekindle.judge import CHECKS

JOBS = REPOSITORY / "flare_jobs"


@cache
def of_examples():
    """Return their names."""
    own = {claim for path in JOBS.glob("*/job.yml") for claim in _claims(path.parent.name)}
    claims = {claim for name in example_names(JOBS) for claim in _claims(name)}
    return frozenset(
        claims - own | {name for name, check in CHECKS.items() if check.applies_to == {"example"}}
    )


def _claims(name):
    return [claim.claim for claim in load_job(JOBS, name).proof]
