# SPDX-License-Identifier: Apache-2.0
"""Jobs of users that are broken and end as if they had trained: none passes, and a named check sees why."""

import pytest
from lies import LIES
from lies_of_kinds import LIES_OF_KINDS


@pytest.mark.parametrize("job", [*LIES, *LIES_OF_KINDS], ids=lambda job: job.name)
def test_a_job_that_lies_does_not_pass(judged, job):
    verdict = judged[job].result()
    sees = next(result for result in verdict.evidence if result.claim == job.check)
    assert (verdict.verdict, sees.state in {"fails", "unknown"}) == (job.verdict, True), verdict.cause
    assert job.cause in sees.message or job.cause in verdict.cause
