# SPDX-License-Identifier: Apache-2.0
"""What ``--check`` ends with, from the records alone: ``ready`` and ``refused``, and no other word."""

from datetime import datetime, timedelta, timezone

import pytest
from msgspec.structs import replace
from samples.folders import HOST, LEFT, NOW, PLAN, add_host, fill

from rekindle.jobs import load_planned
from rekindle.records import (
    Allocation,
    Container,
    LeaseRecord,
    Outcome,
    PlaybookRecord,
    StandingRecord,
    format_time,
    read_record,
    write_record,
)
from rekindle.report.check import format_check
from rekindle.results.check import check_plan


def checked(folder, *, minutes=None, standing=None, wheels_mb=812, fetch_mb=None):
    """Return a folder as a check of one host leaves it, with so much left of its lease."""
    add_host(fill(folder, "gpu-1"), "gpu-1", verdict=None)
    ends = None if minutes is None else format_time(datetime.now(timezone.utc) + timedelta(minutes=minutes))
    write_record(folder / "gpu-1" / "lease.json", LeaseRecord(host="gpu-1", started=NOW, ends=ends))
    if standing is not None:
        record = StandingRecord(host="gpu-1", standing=standing, wheels_mb=wheels_mb, fetch_mb=fetch_mb)
        write_record(folder / "gpu-1" / "standing.json", record)
    return folder


def test_a_ready_host_has_what_would_be_done(golden, tmp_path):
    found = check_plan(checked(tmp_path, minutes=45, standing=("driver",)))
    assert found.ready
    *lines, lease = format_check(found).splitlines()
    golden(*lines)
    assert lease.endswith(" left, long enough for all jobs, without the time to build")


def test_a_refused_host_has_no_plan_of_an_earlier_playbook(tmp_path):
    checked(tmp_path, standing=("driver",))
    later = "2026-11-21T03:00:00Z"
    record = read_record(tmp_path / "run.json", PlaybookRecord)
    write_record(tmp_path / "run.json", replace(record, checked={"gpu-1": later}))
    refused = Outcome(host="gpu-1", stage="preflight", state="failed", message="No root.")
    write_record(tmp_path / "gpu-1" / "refusal.json", refused)
    assert format_check(check_plan(tmp_path)).splitlines() == ["gpu-1: refused: No root."]


@pytest.mark.parametrize(("standing", "there"), [(None, None), ((), False), (("torch",), True)])
def test_what_is_there_is_reported_if_known(tmp_path, standing, there):
    found = check_plan(checked(tmp_path, standing=standing))
    assert found.hosts[0].environments[0].there is there
    assert ("it is there already" in format_check(found)) is bool(there)


def test_the_size_to_fetch_is_reported_also_if_unknown(tmp_path):
    found = check_plan(checked(tmp_path, standing=(), wheels_mb=None, fetch_mb=2345))
    assert (found.hosts[0].wheels_mb, found.hosts[0].fetch_mb) == (None, 2345)
    assert "  to fetch from the package index: at most 2345 MB\n" in format_check(found)
    unknown = check_plan(checked(tmp_path / "unknown", standing=(), wheels_mb=None))
    assert "  to fetch from the package index: unknown, as the capsule " in format_check(unknown)
    assert "index" not in format_check(check_plan(checked(tmp_path / "unseen", wheels_mb=None)))
    assert "index" not in format_check(check_plan(checked(tmp_path / "wheels", standing=())))


def test_a_job_for_which_the_lease_is_too_short_is_named(tmp_path):
    (host,) = check_plan(checked(tmp_path, minutes=1)).hosts
    assert (host.lease_suffices, host.jobs[0].in_time) == (False, False)
    text = format_check(check_plan(tmp_path))
    assert "pt_ddp, about 1 min 0 s, for which the time is too short" in text
    assert "not long enough for all jobs" in text


def test_a_job_for_which_slurm_is_asked_for_too_little_is_named(tmp_path):
    asked = replace(HOST, allocation=Allocation(room="slurm", partition="gpu", time="00:01:30"))
    write_record(checked(tmp_path) / "gpu-1" / "host.json", asked)
    (host,) = check_plan(tmp_path).hosts
    assert (host.lease_suffices, host.jobs[0].in_time) == (None, False)
    assert "pt_ddp, about 1 min 0 s, for which the time is too short" in format_check(check_plan(tmp_path))


def test_a_job_in_a_container_is_named_with_its_image_and_engine(tmp_path, monkeypatch):
    assert check_plan(checked(tmp_path)).hosts[0].jobs[0].container is None
    inside = [replace(job, container=Container(image="flare:1")) for job in load_planned(PLAN)]
    monkeypatch.setattr("rekindle.results.check.load_planned", lambda *_: inside)
    assert "pt_ddp, in flare:1 by Podman 4.3.1, about 1 min 0 s" in format_check(check_plan(tmp_path))
    write_record(tmp_path / "gpu-1" / "host.json", replace(HOST, engines=()))
    assert "pt_ddp: pt_ddp runs in the container flare:1, and " in format_check(check_plan(tmp_path))


def test_without_an_end_of_the_lease_nothing_is_late(tmp_path):
    (host,) = check_plan(checked(tmp_path)).hosts
    assert (host.lease_left_s, host.lease_suffices, host.jobs[0].in_time) == (None, None, None)
    assert "lease" not in format_check(check_plan(tmp_path))


def test_one_host_that_is_refused_is_enough(golden, tmp_path):
    checked(fill(tmp_path, "gpu-1"))
    fill(tmp_path, "gpu-1", "gpu-2", "gpu-3", "gpu-4")
    add_host(tmp_path, "gpu-2", host=None, plan=None, verdict=None, left=LEFT, state="unreachable")
    (tmp_path / "gpu-4").mkdir()
    (tmp_path / "gpu-4" / "host.json").write_text("{")
    found = check_plan(tmp_path)
    assert not found.ready
    assert [host.word for host in found.hosts] == ["ready", "refused", "refused", "refused"]
    golden(*format_check(found).splitlines()[:5])


def test_hosts_for_which_the_same_would_be_done_have_it_once(golden, tmp_path):
    names = [f"gpu-{number:02}" for number in range(1, 21)]
    fill(tmp_path, *names)
    for number, name in enumerate(names):
        add_host(tmp_path, name, verdict=None)
        ends = format_time(datetime.now(timezone.utc) + timedelta(minutes=60, seconds=-7 * number))
        write_record(tmp_path / name / "lease.json", LeaseRecord(host=name, started=NOW, ends=ends))
    other = replace(PLAN.environments[0], build=replace(PLAN.environments[0].build, version="2.14.0"))
    write_record(tmp_path / "gpu-07/plan.json", replace(PLAN, host="gpu-07", environments=(other,)))
    for name, free in (("gpu-03", 3), ("gpu-09", 11)):
        left = f"{name} has {free} GB free. Fix: free more."
        add_host(tmp_path, name, plan=None, verdict=None, left=left)
    write_record(tmp_path / "gpu-20/lease.json", LeaseRecord(host="gpu-20", started=NOW, ends=NOW))
    lines = format_check(check_plan(tmp_path)).splitlines()
    golden(*(line for line in lines if "lease: " not in line))
    leases = [line for line in lines if "lease: " in line]
    assert [line.count("at least") for line in leases] == [1, 1, 0, 0]
    assert len(lines) < 30 < 5 * len(names)


def test_a_refused_framework_has_its_ways_out(golden, tmp_path):
    refused = replace(PLAN.environments[0], build=None, refusal="No build. Fix: a\x1b[2J driver.")
    checked(tmp_path)
    write_record(tmp_path / "gpu-1" / "plan.json", replace(PLAN, environments=(refused,)))
    golden(*format_check(check_plan(tmp_path)).splitlines())


def test_why_a_host_is_refused_stands_once(tmp_path):
    why = "No build fits. Fix: install another driver."
    refused = replace(PLAN.environments[0], build=None, refusal=why)
    plan = replace(PLAN, environments=(refused,), lacking=dict.fromkeys(PLAN.jobs, why))
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", host=HOST, plan=plan, verdict=None, left=why)
    shown = format_check(check_plan(tmp_path))
    assert shown.count("No build fits") == 1
    assert shown.count(": refused") == 2 + len(PLAN.jobs)


def test_what_is_read_or_retired_alone_needs_no_plan_and_no_hosts_are_not_ready(tmp_path):
    assert format_check(check_plan(fill(tmp_path, "gpu-1", asked={"gpu-1": "retire"}))) == "gpu-1: ready"
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", host=HOST, plan=None, verdict=None)
    assert format_check(check_plan(tmp_path)) == "gpu-1: ready"
    found = check_plan(fill(tmp_path))
    assert not found.ready
    assert "no hosts" in format_check(found)


def test_hosts_of_an_earlier_playbook_are_left_out(tmp_path):
    began = {"gpu-1": "2026-11-21T03:00:00Z", "gpu-2": NOW}
    checked(tmp_path)
    assert [host.host for host in check_plan(fill(tmp_path, "gpu-1", "gpu-2", began=began)).hosts] == [
        "gpu-1"
    ]


def test_a_host_that_has_to_be_repaired_has_its_action(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=None, verdict=None, left=LEFT)
    outcome = read_record(tmp_path / "gpu-1/outcome.json", Outcome)
    write_record(tmp_path / "gpu-1/outcome.json", replace(outcome, action="REPLACE"))
    checked = check_plan(tmp_path)
    assert checked.hosts[0].action == "REPLACE"
    assert format_check(checked).startswith("gpu-1: refused, REPLACE: The lease ended. Fix: ")
