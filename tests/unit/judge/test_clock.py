"""The claim on time: evidence that does not fit the server's clock, or itself, proves nothing."""

import json
import re
from datetime import datetime, timedelta

import pytest
from recorded_edits import edit

from rekindle.judge import judge

SERVER = "job/workspace/pt_ddp/server"


def _claim(verdict):
    return next(result for result in verdict.evidence if result.claim == "duration_plausible")


def _too_short(run):
    edit(run / "ended.json", r'"duration_s": [\d.]+', '"duration_s": 3.0')


def _rounds_overlap(run):
    edit(run / "evidence/site-1.rank-0.jsonl", r'"seconds": [\d.]+', '"seconds": 60.0')


def _one_rank_overlaps(run):
    edit(run / "evidence/site-2.rank-1.jsonl", r'"seconds": [\d.]+', '"seconds": 60.0')


def _from_another_hour(run):
    """Evidence of some other run: every time in it is an hour off."""
    for path in (run / "evidence").glob("site-*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        moved = [{**line, "time": line["time"] + 3600} for line in lines]
        path.write_text("".join(json.dumps(line) + "\n" for line in moved))


def _told_after_the_result(run):
    """Rounds that were written down one second after the server had their result."""
    path = run / "evidence/site-2.rank-0.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, "time": line["time"] + 1}) + "\n" for line in lines))


def _no_start_of_a_round(run):
    edit(run / SERVER / "log.txt", r"Round 1 started\.", "")


def _no_end_record(run):
    (run / "ended.json").unlink()


@pytest.mark.parametrize(
    "damage",
    [
        _too_short,
        _rounds_overlap,
        _one_rank_overlaps,
        _from_another_hour,
        _told_after_the_result,
        _no_start_of_a_round,
        _no_end_record,
    ],
)
def test_a_run_that_had_no_time_for_its_rounds_is_unproven(clean_run, damage):
    damage(clean_run)
    verdict = judge(clean_run)
    assert _claim(verdict).holds is None
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause
    assert verdict.remedy


@pytest.mark.parametrize("hours", [-8, 5.75])
def test_a_server_that_logs_in_local_time_is_understood(clean_run, hours):
    form = "%Y-%m-%d %H:%M:%S"
    there = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)

    def moved(match):
        return (datetime.strptime(match.group(), form) + timedelta(hours=hours)).strftime(form)

    for path in clean_run.rglob("log.txt"):
        path.write_text(there.sub(moved, path.read_text()))
    assert judge(clean_run).verdict == "PASS"
