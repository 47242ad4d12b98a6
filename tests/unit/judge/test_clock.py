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


def _a_hundred_times_the_samples(run):
    for path in (run / "evidence").glob("site-*.jsonl"):
        edit(path, r'("round": 2, "samples": \d+)', r"\g<1>00")


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
        _a_hundred_times_the_samples,
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


def test_what_is_not_plausible_is_said_with_its_place(clean_run):
    _a_hundred_times_the_samples(clean_run)
    told = _claim(judge(clean_run))
    assert re.fullmatch(
        r"site-\d rank \d claims \d+00 samples in [\d.]+ s of round 2; "
        r"at 10 times the pace of other rounds they take [\d.]+ s\.",
        told.says,
    )
    assert '"round": 2' in (clean_run / told.file).read_text().splitlines()[told.line - 1]


def test_a_short_round_that_waited_for_its_share_of_a_core_is_no_sign_of_another_that_did_not_work(clean_run):
    for site, seconds in (("site-1", 0.005), ("site-2", 0.1)):
        for path in (clean_run / "evidence").glob(f"{site}.*.jsonl"):
            edit(path, r'"seconds": [\d.]+', f'"seconds": {seconds}')
    assert _claim(judge(clean_run)).holds
    for path in (clean_run / "evidence").glob("site-2.*.jsonl"):
        edit(path, r'"seconds": [\d.]+', '"seconds": 0.3')
    told = _claim(judge(clean_run))
    assert (told.holds, told.says.partition(" claims ")[0]) == (None, "site-1 rank 0")


def test_rounds_of_less_than_a_hundredth_of_a_second_are_not_compared(clean_run):
    for path in (clean_run / "evidence").glob("site-*.jsonl"):
        edit(path, r'"seconds": [\d.]+', '"seconds": 0.001')
        edit(
            path,
            r'"round": 2, "samples": \d+, "seconds": 0.001',
            '"round": 2, "samples": 50, "seconds": 0.0001',
        )
        edit(path, r'"round": 1, "samples": \d+', '"round": 1, "samples": 50')
    assert _claim(judge(clean_run)).holds


@pytest.mark.parametrize("hours", [-8, 5.75])
def test_a_server_that_logs_in_local_time_is_understood(clean_run, hours):
    form = "%Y-%m-%d %H:%M:%S"
    there = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", re.MULTILINE)

    def moved(match):
        return (datetime.strptime(match.group(), form) + timedelta(hours=hours)).strftime(form)

    for path in clean_run.rglob("log.txt"):
        path.write_text(there.sub(moved, path.read_text()))
    assert judge(clean_run).verdict == "PASS"
