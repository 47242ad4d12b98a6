# SPDX-License-Identifier: Apache-2.0
"""What would become of jobs: by the plan, by the GPUs, and by the time that those before them take."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from samples.folders import HOST, PLAN

from rekindle.jobs import find_stops, foresee_jobs, load_job
from rekindle.records import Allocation

JOBS = Path(__file__).parents[3] / "flare_jobs"
JOB = replace(load_job(JOBS, "pt_ddp"), expected_s=60)


@pytest.mark.parametrize(
    ("left_s", "late"),
    [
        (None, [False, False]),
        (1000, [False, False]),
        (180, [False, False]),
        (179, [False, True]),
        (10, [True, True]),
    ],
)
def test_each_job_has_what_those_before_it_leave(left_s, late):
    found = foresee_jobs([JOB, JOB], HOST, PLAN, left_s)
    assert [foreseen.late is not None for foreseen in found] == late


@pytest.mark.parametrize("left_s", [None, 10_000])
def test_each_job_has_all_of_an_allocation_s_time(golden, left_s):
    asked = (Allocation(room="slurm", partition="gpu", time=time) for time in ("00:04:00", "00:03:59"))
    enough, less = (replace(HOST, allocation=slurm) for slurm in asked)
    assert [foreseen.late for foreseen in foresee_jobs([JOB] * 5, enough, PLAN, left_s)] == [None] * 5
    (foreseen,) = foresee_jobs([JOB], less, PLAN, left_s)
    golden(str(foreseen.late))


def test_a_job_that_cannot_run_takes_no_time():
    refused = replace(PLAN.environments[0], framework="tensorflow", build=None, refusal="No build.")
    plan = replace(PLAN, environments=(*PLAN.environments, refused))
    found = foresee_jobs([replace(JOB, environment="tensorflow"), JOB], HOST, plan, 120)
    assert [(str(foreseen.refusal), foreseen.late) for foreseen in found] == [
        ("No build.", None),
        ("None", None),
    ]


@pytest.mark.parametrize(("nvflare", "refused"), [(None, False), ("2.8.3", False), ("2.9.0", True)])
def test_an_example_is_of_the_releases_that_it_is_described_for(nvflare, refused):
    example = replace(load_job(JOBS, "examples/hello-flower"), environment="torch")
    (foreseen,) = foresee_jobs([example], HOST, replace(PLAN, nvflare=nvflare), None)
    message = "hello-flower is described for NVFlare 2.7 and 2.8, and the host gets 2.9.0. Fix: Leave "
    assert str(foreseen.refusal).startswith(message) == refused == (foreseen.refusal is not None)


def test_an_example_that_the_checkout_no_longer_has_is_refused():
    plan = replace(PLAN, lacking={JOB.name: "It is gone. Fix: name an older checkout."})
    (foreseen,) = foresee_jobs([JOB], HOST, plan, None)
    assert str(foreseen.refusal) == plan.lacking[JOB.name]
    assert [*map(str, find_stops([JOB], HOST, plan, None))] == [plan.lacking[JOB.name]]
