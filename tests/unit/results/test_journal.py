# SPDX-License-Identifier: Apache-2.0
"""What a playbook notes while it runs: hosts, who left where, and what no longer counts."""

import subprocess
import sys

import pytest
from runners.plays import REPOSITORY

from rekindle.jobs.lease import find_start
from rekindle.records import Complaint, Outcome, PlaybookRecord, RecordError, parse_time, read_record
from rekindle.results.journal import (
    STAGES,
    begin_play,
    forget_left,
    is_playing,
    keep_playing,
    note_left,
    stop_playing,
)

FIRST, LATER = "2026-11-21T02:00:00Z", "2026-11-21T09:00:00Z"


def left_at(folder):
    path = folder / "a" / "outcome.json"
    return read_record(path, Outcome).stage if path.exists() else None


def test_hosts_of_all_plays_and_the_first_start_are_kept(tmp_path):
    begin_play(tmp_path / "r", "preflight", ["b", "a"], left=(), now=FIRST)
    begin_play(tmp_path / "r", "plan", ["a", "c"], left=(), now=LATER)
    run = read_record(tmp_path / "r" / "run.json", PlaybookRecord)
    assert (run.run, run.started, run.hosts) == ("r", FIRST, ("b", "a", "c"))
    assert run.asked == {"b": "preflight", "a": "plan", "c": "plan"}


@pytest.mark.parametrize(
    ("left", "stage", "stays"),
    [
        ("environments", "preflight", True),
        ("environments", "plan", True),
        ("environments", "tidy", True),
        ("environments", "environments", False),
        ("environments", "collect", False),
        ("accept", "validate", False),
        ("containers", "validate", False),
        ("retire", "validate", False),
    ],
)
def test_an_outcome_counts_until_a_play_goes_as_far_or_further(tmp_path, left, stage, stays):
    note_left(tmp_path, "a", left, "failed", Complaint("No space."))
    begin_play(tmp_path, stage, ["a"], left=(), now=FIRST)
    assert (left_at(tmp_path) is not None) is stays


def test_a_check_goes_no_further_than_the_plan(tmp_path):
    for stage, asked in (("preflight",) * 2, ("validate", "plan"), ("collect", "plan"), ("retire",) * 2):
        begin_play(tmp_path, stage, ["a"], left=(), now=FIRST, checks=True)
        assert read_record(tmp_path / "run.json", PlaybookRecord).asked == {"a": asked}


def test_every_playbook_of_a_stage_has_its_place():
    assert STAGES[:2] == ("preflight", "plan")
    stems = {path.stem for path in (REPOSITORY / "playbooks").glob("*.yml")}
    assert stems == {*STAGES, "federate", "federation", "report", "retire", "site"}


def test_a_check_leaves_what_is_known_of_runs(tmp_path):
    begin_play(tmp_path, "validate", ["a"], left=(), now=FIRST)
    note_left(tmp_path, "a", "environments", "failed", Complaint("No space."))
    begin_play(tmp_path, "validate", ["a", "b"], left=(), now=LATER, checks=True)
    note_left(tmp_path, "a", "validate", "failed", Complaint("Too late."), checks=True)
    run = read_record(tmp_path / "run.json", PlaybookRecord)
    assert (run.began, run.checked) == ({"a": FIRST}, {"a": LATER, "b": LATER})
    assert find_start(tmp_path, "a") == parse_time(LATER)  # by which a budget counts
    assert left_at(tmp_path) == "environments"
    assert read_record(tmp_path / "a" / "refusal.json", Outcome).message.startswith("Too late.")
    forget_left(tmp_path, "a", checks=True)
    assert left_at(tmp_path) == "environments"
    begin_play(tmp_path, "validate", ["a"], left=(), now=LATER)
    assert read_record(tmp_path / "run.json", PlaybookRecord).checked == {"b": LATER}
    assert left_at(tmp_path) is None


def test_a_playbook_goes_on_until_it_ends_or_is_killed(tmp_path):
    assert not is_playing(tmp_path)
    first, second = keep_playing(tmp_path), keep_playing(tmp_path)
    stop_playing(tmp_path, first)
    assert is_playing(tmp_path)
    stop_playing(tmp_path, second)
    assert not is_playing(tmp_path)
    assert not list(tmp_path.iterdir())
    code = "import sys; from pathlib import Path; from rekindle.results.journal import keep_playing\n"
    code += "kept = keep_playing(Path(sys.argv[1])); print(flush=True); input()"
    command = [sys.executable, "-c", code, tmp_path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert is_playing(tmp_path)
        process.kill()
    assert not is_playing(tmp_path)


def test_an_outcome_of_this_very_run_or_of_another_host_stays_until_the_host_goes_on(tmp_path):
    note_left(tmp_path, "a", "preflight", "failed", Complaint("No GPU."))
    begin_play(tmp_path, "plan", ["a"], left={"a"}, now=FIRST)
    assert left_at(tmp_path) == "preflight"
    begin_play(tmp_path, "preflight", ["b"], left=(), now=FIRST)
    assert left_at(tmp_path) == "preflight"
    forget_left(tmp_path, "a")
    forget_left(tmp_path, "b")
    assert left_at(tmp_path) is None


def test_a_tasks_message_becomes_one_sentence_with_a_fix(golden, tmp_path):
    lines = []
    for state, message in (
        ("failed", "No GPU. Fix: add one."),
        ("failed", "bad\r\n \x1b[31mthing\x1b[0m\x00"),
        ("unreachable", "refused."),
        ("failed", " \n"),
        ("failed", "first " + "x " * 10_000 + "last"),
        ("failed", f"{'x ' * 1_000}end. Fix: mend it. {'y ' * 1_000}"),  # which is shortened away
    ):
        note_left(tmp_path, "a", "plan", state, Complaint.parse(message))
        left = read_record(tmp_path / "a" / "outcome.json", Outcome)
        lines.append(f"{left.message} | {left.fix}")
    assert max(map(len, lines)) < 3000
    golden(*lines)


def test_a_broken_run_record_is_not_written_over(tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RecordError, match=r"run\.json is not a valid PlaybookRecord"):
        begin_play(tmp_path, "plan", ["a"], left=(), now=FIRST)
    assert (tmp_path / "run.json").read_text() == "{"


def test_no_host_is_lost_when_many_plays_begin_in_one_folder(tmp_path):
    code = (
        "import sys; from pathlib import Path; from rekindle.results.journal import begin_play\n"
        "folder, who = Path(sys.argv[1]), sys.argv[2]\n"
        "(folder / who).touch()\n"
        "while len(list(folder.iterdir())) < 4: pass\n"
        "for n in range(20): begin_play(folder, 'plan', [f'{who}-{n}'], left=(), now='2026-11-21T02:15:00Z')"
    )
    (tmp_path / "r").mkdir()
    plays = [subprocess.Popen([sys.executable, "-c", code, tmp_path / "r", str(n)]) for n in range(4)]
    assert [process.wait() for process in plays] == [0] * 4
    assert len(read_record(tmp_path / "r" / "run.json", PlaybookRecord).hosts) == 80
