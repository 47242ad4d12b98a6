# SPDX-License-Identifier: Apache-2.0
"""A run that SLURM suspended in mid-round: the time in which it stood counts against nothing."""

import re
from datetime import datetime, timedelta, timezone

import pytest
from samples.edits import events, json_in, result_of

from rekindle.judge import judge_run
from rekindle.judge.opener import open_run

STOOD_S = 300.0
FORM = "%Y-%m-%d %H:%M:%S"
LOG_TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})")


def stand_still(run, when):
    """Have the recorded run stand for STOOD_S from ``when`` on, in seconds since the epoch."""

    def moved(event):
        began = event["time"] - event.get("seconds", 0.0)
        if event["time"] > when > began and "seconds" in event:
            event["seconds"] += STOOD_S
        return event | {"time": event["time"] + STOOD_S * (event["time"] > when)}

    def moved_line(match):
        at = datetime.strptime(match[1], FORM).replace(tzinfo=timezone.utc)
        late = at.timestamp() + int(match[2]) / 1e3 > when
        return f"{(at + timedelta(seconds=STOOD_S * late)).strftime(FORM)},{match[2]}"

    for path in (*(run / "evidence").glob("*.jsonl"), *run.glob("samples*.jsonl")):
        events(path, moved)
    for path in (*run.rglob("log.txt"), run / "job.log"):
        path.write_text(LOG_TIME.sub(moved_line, path.read_text()))
    with json_in(run / "ended.json") as ended:
        ended["duration_s"] += STOOD_S
        ended["suspensions"] = [{"since": when, "until": when + STOOD_S}]


def in_the_last_round(run):
    recorded = open_run(run)
    rounds = [recorded.ranks.rounds(*rank)[-1].event for rank in recorded.ranks.all]
    return (max(event.time - event.seconds for event in rounds) + min(event.time for event in rounds)) / 2


def after_the_last_word(run):
    return max(line.event.time for line in open_run(run).lines) + 0.001


@pytest.mark.parametrize("moment", [in_the_last_round, after_the_last_word])
def test_a_run_that_stood_passes(clean_run, moment):
    stand_still(clean_run, moment(clean_run))
    verdict = judge_run(clean_run)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)


def test_a_gap_in_the_samples_is_no_longer_than_the_suspension(clean_run):
    stand_still(clean_run, after_the_last_word(clean_run))
    with json_in(clean_run / "ended.json") as ended:
        ended["suspensions"][0]["until"] -= STOOD_S
    rule = result_of(judge_run(clean_run), "sampled_all_along")
    assert (rule.state, "The driver took no sample for " in rule.message) == ("unknown", True)


def test_nothing_is_written_in_a_suspension(clean_run):
    when = in_the_last_round(clean_run)
    with json_in(clean_run / "ended.json") as ended:
        ended["suspensions"] = [{"since": when - 10, "until": when + 10}]
    verdict = judge_run(clean_run)
    assert verdict.verdict == "UNPROVEN"
    assert verdict.cause.endswith(" The run was suspended for 20 s.")
    rule = result_of(verdict, "all_within_the_run")
    assert (rule.state, rule.message) == ("unknown", "An event was written while the run was suspended.")
