# SPDX-License-Identifier: Apache-2.0
"""What a results folder shows of jobs that still run, may still run, or were kept."""

import json

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, LEFT, NOTHING, PLAN, add_host, fill, rows

from rekindle.cli import judge
from rekindle.cli.report import find_status
from rekindle.cli.verb import FAILED, UNKNOWN
from rekindle.records import LastProgress, PlacedRecord, RunSpec, parse_time, read_record, write_record
from rekindle.report.answer import format_answer
from rekindle.report.reports import write_reports
from rekindle.results.contents import gather_results
from rekindle.results.journal import keep_playing

BEGAN = "2026-11-21T08:00:00Z"


@pytest.fixture
def placed(recordings):
    """Return the record of a run that was placed."""
    spec = read_record(next(recordings.glob("runs/*/spec.json")), RunSpec)
    return PlacedRecord(run="/r", payload="/p", spec=spec, at=BEGAN)


@pytest.fixture
def going_on(tmp_path, placed):
    """Return what makes a results folder in which a playbook goes on."""
    held = []

    def make(jobs=("pt_ddp",), sent=BEGAN, **records):
        add_host(
            fill(tmp_path, "gpu-1", began={"gpu-1": BEGAN}),
            "gpu-1",
            **{"plan": replace(PLAN, jobs=jobs), **records},
        )
        write_record(tmp_path / "gpu-1" / "pt_ddp.placed.json", replace(placed, at=sent))
        held.append(keep_playing(tmp_path))
        return tmp_path

    yield make
    for stream in held:
        stream.close()


def test_a_verdict_that_is_still_to_come_is_running(going_on):
    folder = going_on(("pt_ddp", "llm_sft"), verdict=None)
    seen = LastProgress(what="pt_ddp", message="round 2/3, about 9 s left", at="2026-11-21T08:01:00Z")
    write_record(folder / "gpu-1" / "seen.json", seen)
    results = write_reports(folder)
    assert (results.state, results.passed, find_status(results)) == ("running", False, UNKNOWN)
    assert judge.run(folder).status == UNKNOWN
    first, second = results.rows
    assert (first.kind, second.kind) == ("RUNNING", "RUNNING")
    assert first.cause.startswith("pt_ddp: round 2/3, about 9 s left, at ")
    assert second.cause == "It has not started yet."
    for name in ("results.json", "junit.xml", "report.html"):
        assert "RUNNING" in (folder / name).read_text()
        assert "SKIPPED: " not in (folder / name).read_text()


@pytest.mark.parametrize(
    ("records", "job", "kind"),
    [
        (NOTHING, None, "RUNNING"),
        ({"sent": "2026-11-20T08:00:00Z"}, "pt_ddp", "RUNNING"),  # an earlier verdict
        ({"sent": BEGAN}, "pt_ddp", "PASS"),
        ({"verdict": None, "left": LEFT}, "pt_ddp", "SKIPPED"),
    ],
)
def test_what_goes_on_is_running_and_what_was_collected_or_left_is_not(going_on, records, job, kind):
    assert rows(going_on(**records)) == [("gpu-1", job, kind)]


@pytest.mark.parametrize(("nonce", "kind"), [("0" * 32, "RUNNING"), (None, "PASS")])
def test_the_verdict_of_the_run_before_is_none_of_the_one_that_goes_on(going_on, placed, nonce, kind):
    spec = placed.spec if nonce is None else replace(placed.spec, nonce=nonce)
    folder = going_on()
    write_record(folder / "gpu-1/pt_ddp/spec.json", spec)
    assert rows(folder) == [("gpu-1", "pt_ddp", kind)]


def test_a_failure_beside_what_runs_is_a_bad_answer(going_on):
    folder = going_on(("pt_ddp", "llm_sft"), verdict=FAIL)
    assert rows(folder) == [("gpu-1", "pt_ddp", "FAIL"), ("gpu-1", "llm_sft", "RUNNING")]
    assert find_status(gather_results(folder)) == FAILED


def test_a_run_that_nobody_follows_any_more_may_still_run(tmp_path, placed):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=None)
    write_record(tmp_path / "gpu-1/pt_ddp.placed.json", placed)
    (row,) = gather_results(tmp_path).rows
    assert (row.kind, "may still run" in row.cause) == ("SKIPPED", True)


@pytest.mark.parametrize(
    ("began", "form"), [("2026-11-21T09:40:00Z", "%H:%M"), ("2026-11-23T09:40:00Z", "%Y-%m-%d %H:%M")]
)
def test_a_pass_that_was_kept_is_marked_in_every_report(tmp_path, placed, began, form):
    message = f"kept, of {parse_time('2026-11-21T09:12:07Z').astimezone().strftime(form)}"
    add_host(fill(tmp_path, "gpu-1", began={"gpu-1": began}), "gpu-1")
    kept = replace(placed, at=began, kept="2026-11-21T09:12:07Z")
    write_record(tmp_path / "gpu-1/pt_ddp.placed.json", kept)
    results = write_reports(tmp_path)
    assert results.passed
    assert message in format_answer(results, None, 120, False)
    for name in ("report.html", "junit.xml"):
        assert message in (tmp_path / name).read_text()
    assert json.loads((tmp_path / "results.json").read_text())["rows"][0]["kept"] == kept.kept
