# SPDX-License-Identifier: Apache-2.0
"""What job.py or a site in its process prints of an exception, and goes on."""

import pytest
from samples.edits import result_of

from rekindle.judge import judge_run

TRACEBACK = """
Traceback (most recent call last):
  File "/home/lease/app/executor.py", line 16, in read
    raw = np.loadtxt(path)
{raised}
site-2: no export here, the generated cohort is used
""".lstrip()


@pytest.fixture
def printed(example):
    """Return how the check ends with an exception that was printed before or after the sites' results."""

    def printed(raised, late=False):
        log = example / "job.log"
        lines = log.read_text().splitlines(keepends=True)
        lines.insert(len(lines) if late else 1, TRACEBACK.format(raised=raised))
        log.write_text("".join(lines))
        return result_of(judge_run(example), "job_printed_no_error")

    return printed


def test_an_exception_after_which_results_came_was_overcome(printed):
    result = printed("FileNotFoundError: /data/site-2.csv not found.")
    assert result.state == "holds"
    assert result.message.startswith("Results came after line ")
    assert result.message.endswith(" of job.log: FileNotFoundError: /data/site-2.csv not found.")


@pytest.mark.parametrize(
    ("raised", "late"),
    [
        ("FileNotFoundError: /data/site-2.csv not found.", True),
        ("torch.AcceleratorError: CUDA error: an illegal memory access was encountered", False),
    ],
)
def test_others_are_failures(printed, raised, late):
    assert printed(raised, late).state == "fails"
