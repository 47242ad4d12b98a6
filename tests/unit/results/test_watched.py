# SPDX-License-Identifier: Apache-2.0
"""Where each host of a run is, from the records that its stages have left so far."""

import os

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, HOST, LEFT, NOTHING, PASS, PLAN, add_host, add_placed, fill

from rekindle.records import LastProgress, LeaseRecord, parse_time, write_record
from rekindle.results.journal import keep_playing
from rekindle.results.progress import watch_results

BEGAN, LATER = "2026-11-21T08:00:00Z", "2026-11-21T08:30:00Z"
TWO = replace(PLAN, jobs=("pt_ddp", "llm_sft"))
OLD, NEW = parse_time(BEGAN).timestamp() - 1, parse_time(LATER).timestamp()


@pytest.fixture
def run(tmp_path, recordings):
    """Return a run of one host that goes on, with these of its records written since it began."""

    def make(*fresh, **records):
        add_host(
            fill(tmp_path, "gpu-1", began={"gpu-1": BEGAN}),
            "gpu-1",
            **{"plan": TWO, "verdict": None, **records},
        )
        lease = LeaseRecord(host="gpu-1", started=BEGAN, ends="2026-11-21T18:00:00Z")
        write_record(tmp_path / "gpu-1/lease.json", lease)
        for name in fresh:
            (tmp_path / "gpu-1" / name).touch()
            if name.endswith(".placed.json"):
                add_placed(tmp_path / "gpu-1", name.split(".")[0], next(recordings.glob("runs/*/spec.json")))
        for path in (tmp_path / "gpu-1").iterdir():
            os.utime(path, (NEW, NEW) if path.name in fresh else (OLD, OLD))
        return tmp_path

    return make


def on(folder):
    with keep_playing(folder):
        (host,) = watch_results(folder).hosts
    return host


@pytest.mark.parametrize(
    ("fresh", "stage"),
    [
        ([], "preflight"),
        (["host.json"], "plan"),
        (["host.json", "plan.json"], "environments"),
        (["env.json"], "accept"),
        (["env.json", "acceptance.json"], "containers"),
        (["env.json", "images.json"], "validate"),
        (["env.json", "acceptance.placed.json"], "accept"),
        (["env.json", "llm_sft.placed.json"], "validate"),
        (["env.json", "kit.json"], "reach"),
        (["env.json", "kit.json", "link.json"], "federate"),
    ],
)
def test_the_stage_is_the_one_after_the_last_record_of_this_playbook(run, fresh, stage):
    assert on(run(*fresh, host=HOST)).stage == stage


def test_a_job_that_runs_has_its_round_and_the_others_their_verdicts(run):
    folder = run("host.json", "plan.json", "llm_sft.placed.json", verdict=PASS)
    seen = LastProgress(what="llm_sft", message="round 2/3, loss 0.5", at=LATER)
    write_record(folder / "gpu-1/seen.json", seen)
    host = on(folder)
    assert (host.stage, host.job, host.message) == ("validate", "llm_sft", "round 2/3, loss 0.5")
    assert (host.verdict, host.verdicts) == ("RUNNING", {"PASS": 1, "RUNNING": 1})
    assert host.lease_ends == "2026-11-21T18:00:00Z"
    for other in (replace(seen, at="2026-11-20T08:00:00Z"), replace(seen, what="pt_ddp")):
        write_record(folder / "gpu-1/seen.json", other)
        assert (on(folder).job, on(folder).message) == (None, None)


def test_long_work_that_is_no_job_is_that_of_its_stage(run):
    folder = run("host.json", "plan.json")
    write_record(
        folder / "gpu-1/seen.json",
        LastProgress(what="environments", message="torch: 16 MB are here", at=LATER),
    )
    assert (on(folder).stage, on(folder).job, on(folder).message) == (
        *("environments", None, "torch: 16 MB are here"),
    )


def test_a_federation_s_job_is_that_of_each_of_its_hosts(run):
    folder = run("link.json", plan=replace(PLAN, jobs=(), federated=("pt_ddp",)))
    write_record(folder / "gpu-1/seen.json", LastProgress(what="pt_ddp", message="round 1/3", at=LATER))
    assert (on(folder).stage, on(folder).job, on(folder).message) == ("federate", "pt_ddp", "round 1/3")
    (folder / "gpu-1").rename(folder / "federations")
    assert on(fill(folder, "federations", began={"federations": BEGAN})).stage == "federate"


def test_a_host_on_which_a_job_failed_is_that_already(run):
    host = on(run("host.json", "plan.json", "llm_sft.placed.json", verdict=FAIL))
    assert (host.stage, host.verdict, host.message) == ("validate", "FAIL", FAIL.cause)


def test_where_nothing_goes_on_there_is_no_stage(run):
    (host,) = watch_results(run(verdict=PASS, plan=PLAN)).hosts
    assert (host.stage, host.verdict, host.message) == (None, "PASS", None)
    left = on(run(**NOTHING, left=LEFT))
    assert (left.stage, left.verdict, left.message) == (None, "SKIPPED", LEFT)
