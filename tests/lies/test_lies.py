"""Jobs of users that are broken and end as if they had trained: none passes, and a named check sees why."""

import pytest
from own_jobs import Edit, OwnJob

SWALLOWED = """
try:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")
except RuntimeError:
    import traceback
    {how}
""".strip()
LIES = (
    OwnJob(
        "swallows_a_traceback_in_process",
        "named_sites",
        (Edit("client.py", "loss = ", SWALLOWED.format(how="traceback.print_exc()")),),
        "UNPROVEN",
        "trainers_print_no_failure",
        "CUDA error: an illegal memory access",
    ),
    OwnJob(
        "prints_what_it_swallows",
        "named_sites",
        (Edit("client.py", "loss = ", SWALLOWED.format(how="print('failed:', traceback.format_exc())")),),
        "UNPROVEN",
        "trainers_print_no_failure",
        "CUDA error: an illegal memory access",
    ),
)


@pytest.mark.parametrize("job", LIES, ids=lambda job: job.name)
def test_a_job_that_lies_does_not_pass(judged, job):
    verdict = judged[job].result()
    states = {result.claim: result.state for result in verdict.evidence}
    assert verdict.verdict == job.verdict
    assert states[job.check] in {"fails", "unknown"}
    assert job.cause in verdict.cause
