# SPDX-License-Identifier: Apache-2.0
"""What is left of a lease: read from what a user writes, and shared between a job and the way home."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekindle import jobs
from rekindle.jobs import load_job
from rekindle.jobs.lease import find_allowance, find_deadline, find_oldest
from rekindle.records import Allocation, GivenGpu, RecordError, RunMember, RunSpec, read_record

REPOSITORY = Path(__file__).parents[3]
START = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "minutes"), [("45m", 45), ("1h30m", 90), ("90s", 1.5), ("2h", 120), ("1h0m30s", 60.5)]
)
def test_a_budget_counts_from_the_start(text, minutes):
    assert find_deadline("", text, START) == START + timedelta(minutes=minutes)


def test_a_pass_is_kept_for_as_long_as_it_may_be_old():
    assert find_oldest("20h", START) == "2026-11-20T16:00:00Z"
    assert find_oldest("", START) is None
    with pytest.raises(RecordError, match=r"max_age '20' is not a length of time\. Fix: "):
        find_oldest("20", START)


def test_the_earlier_of_both_counts():
    assert find_deadline("2026-11-21T12:10+00:00", "45m", START) == START + timedelta(minutes=10)
    assert find_deadline("2026-11-21T14:00+00:00", "45m", START) == START + timedelta(minutes=45)
    assert find_deadline("", "", START) is None


@pytest.mark.parametrize(
    ("ends", "budget", "message"),
    [
        ("tomorrow", "", "lease_ends 'tomorrow' is not a time. Fix: "),
        ("", "45", "budget '45' is not a length of time. Fix: "),
        ("", "45m!", "budget '45m!' is not a length of time. Fix: "),
        ("", "-5m", "budget '-5m' is not a length of time. Fix: "),
    ],
)
def test_what_is_no_time_is_one_sentence(ends, budget, message):
    with pytest.raises(RecordError, match=message) as error:
        find_deadline(ends, budget, START)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("left_s", "limit_s"), [(10_000, 600), (600, 540), (120, 60), (119, None), (0, None), (-60, None)]
)
def test_a_job_gets_what_collection_leaves_it(left_s, limit_s):
    job = replace(load_job(REPOSITORY / "flare_jobs", "pt_ddp"), expected_s=60, limit_s=600)
    assert find_allowance(job, left_s, None) == limit_s


def test_a_job_that_cannot_finish_in_time_is_skipped_with_the_reason(clean_run):
    spec = read_record(clean_run / "spec.json", RunSpec)
    with pytest.raises(jobs.NoRunError) as refused:
        jobs.limit_spec(spec, 30.0)
    assert refused.value.verdict == "SKIPPED"
    assert refused.value.message.startswith("pt_ddp takes about 60 s and ")
    assert jobs.limit_spec(spec, None) == spec
    assert jobs.limit_spec(spec, 300.0).job.limit_s < 300


@pytest.mark.parametrize("lease_s", [None, 50_000])
def test_a_job_that_an_allocation_is_too_short_for_is_skipped_for_that(clean_run, lease_s):
    with pytest.raises(jobs.NoRunError) as refused:
        jobs.limit_spec(_asks(clean_run, "00:01:30"), lease_s)
    assert refused.value.verdict == "SKIPPED"
    assert refused.value.message == "pt_ddp takes about 60 s, and rekindle_slurm asks for 00:01:30."
    assert refused.value.fix == "Ask for a longer time in rekindle_slurm."


def test_a_job_ends_at_its_limit_before_slurm_ends_it(clean_run):
    """SLURM does so two minutes before the end of an allocation, or a minute earlier."""
    limits = {"00:05:00": 120, "00:20:00": 600, "00:40:00": 600}
    assert {time: jobs.limit_spec(_asks(clean_run, time), None).job.limit_s for time in limits} == limits


def test_a_lease_that_ends_before_an_allocation_is_reported_as_the_lease(clean_run):
    with pytest.raises(jobs.NoRunError, match="lease_ends"):
        jobs.limit_spec(_asks(clean_run, "01:00:00"), 30.0)


def _asks(run, time):
    return replace(
        read_record(run / "spec.json", RunSpec),
        allocation=Allocation(room="slurm", partition="gpu", time=time),
    )


def test_other_inputs_are_another_run(clean_run):
    spec = read_record(clean_run / "spec.json", RunSpec)
    assert jobs.digest_inputs(spec, "rekindle-1.zip") != jobs.digest_inputs(spec, "rekindle-2.zip")
    other = replace(spec, lock_sha256="1" * 64)
    assert jobs.digest_inputs(spec, "rekindle-1.zip") != jobs.digest_inputs(other, "rekindle-1.zip")


class Tagged(str):
    """A text from an inventory, as Ansible has it."""


GPU = GivenGpu(uuid="GPU-a", index=0, name="H200", memory_mib=1)


@pytest.mark.parametrize("same", [{"nonce": "0" * 32, "gpus": (GPU,)}, {"tmpdir": Tagged("/tmp/x")}])
def test_nonce_state_of_the_gpus_and_tags_of_texts_are_no_inputs(clean_run, same):
    spec = replace(read_record(clean_run / "spec.json", RunSpec), tmpdir="/tmp/x")
    other = replace(spec, **same)
    assert jobs.digest_inputs(other, "rekindle-1.zip") == jobs.digest_inputs(spec, "rekindle-1.zip")


def test_what_was_measured_of_links_is_no_input(clean_run):
    def digest(**parts):
        mine = RunMember(**{"room": "any", "name": "one", "min_sites": 1, **parts})
        spec = replace(read_record(clean_run / "spec.json", RunSpec), member=mine)
        return jobs.digest_inputs(spec, "rekindle-1.zip")

    assert digest(measured={"ways": [1]}) == digest() != digest(given={"kit": "/k"})


def test_a_time_without_a_zone_is_this_machines():
    ends = find_deadline("2026-11-21T18:00", "", START)
    assert ends.replace(tzinfo=None) == datetime(2026, 11, 21, 18)
    assert ends.tzinfo is not None
