# SPDX-License-Identifier: Apache-2.0
"""What somebody wrote is told with its place, what is there, and what it takes."""

import pytest

from rekindle.records import Job
from rekindle.records.misfits import find_misfits

JOB = {
    "schema": "rekindle/job/1",
    "name": "mine",
    "summary": "It trains.",
    "environment": "torch",
    "example": {"command": ["job.py"]},
    "sites": 2,
    "ranks_per_site": 1,
    "rounds": 2,
    "when_short_of_gpus": "share",
    "limit_s": 600,
    "proof": [{"claim": "every_site_trained"}],
}


@pytest.mark.parametrize(
    ("written", "mistakes"),
    [
        ({}, []),
        ({"command": ["job.py"]}, ["`command` is no field, `example.command` is"]),
        ({"limit": 600}, ["`limit` is no field, `limit_s` is"]),
        ({"limit_s": "10m"}, ["`limit_s` is '10m' and takes a whole number"]),
        ({"sites": None}, ["`sites` is empty and takes a whole number"]),
        (
            {"example": {"command": ["job.py", {"rounds": None}]}},
            ['`example.command[1]` is a mapping of 1 and takes a text: write "{rounds}" in quotes'],
        ),
        ({"proof": ["every_site_trained"]}, ["`proof[0]` is 'every_site_trained' and takes a mapping"]),
    ],
)
def test_a_mistake_has_its_place_and_what_is_taken_there(written, mistakes):
    assert [*find_misfits({**JOB, **written}, Job)] == mistakes


def test_what_is_no_table_at_all_is_told():
    assert [*find_misfits(["job.py"], Job)] == ["it is a list of 1 and takes a mapping"]
