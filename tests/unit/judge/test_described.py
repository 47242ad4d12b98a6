# SPDX-License-Identifier: Apache-2.0
"""How a verdict names an example that ran: its code, its mends and its stand-ins."""

import pytest
from samples.edits import json_in, result_of

from rekindle.judge import judge_run

MEND = {"file": "job.py", "before": "a", "after": "b", "because": "it was a", "fault": "upstream"}


def test_a_mend_and_a_stand_in_are_reported(example):
    with json_in(example / "spec.json") as spec:
        spec["job"]["example"] |= {"data": ["cifar10"], "mends": [MEND]}
    described = result_of(judge_run(example), "runs_as_described")
    assert described.state == "holds"
    assert described.message.endswith(
        "job.py mended (it was a; fault: upstream); data: a stand-in for cifar10, not the real one."
    )


def test_a_job_of_the_users_own_is_named_by_its_code(example):
    with json_in(example / "spec.json") as spec:
        spec["job"]["example"]["folder"] = None
        spec["versions"]["code"] = "0123456789ab"
    described = result_of(judge_run(example), "runs_as_described").message
    assert described == "hello-numpy, the user's own, its code 0123456789ab."


@pytest.mark.parametrize("gpus", [(), (["GPU-a"], ["GPU-a"])])
def test_a_mend_for_the_cpu_is_reported_only_without_a_gpu(example, gpus):
    with json_in(example / "spec.json") as spec:
        spec["job"]["example"] |= {"mends": [{**MEND, "where": "cpu"}]}
        for site, own in zip(spec["sites"], gpus, strict=False):
            site["gpus"] = own
        spec["gpus"] = [{"uuid": "GPU-a", "index": 0, "name": None, "memory_mib": None}] if gpus else []
    assert ("mended" in result_of(judge_run(example), "runs_as_described").message) is not bool(gpus)
