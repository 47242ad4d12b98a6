# SPDX-License-Identifier: Apache-2.0
"""The board: one line for each job, environment, host and release, the newest verdict, and what changed."""

import pytest
from msgspec.structs import replace
from samples.folders import FAIL, PASS, PLAN, add_host, fill

from rekindle.judge.known_issues import KnownIssue
from rekindle.records import Outcome, PlacedRecord, RunSpec, read_record, write_record
from rekindle.results.board import make_board_of_runs
from rekindle.results.contents import gather_results

KNOWN = KnownIssue(
    name="upstream_bug",
    entry="some_entry",
    versions={"nvflare": "<3"},
    expires="2027-06-01",
    message="NVFlare loses it.",
    source="https://example.org/issues/1",
)
NOW = "2026-12-01T00:00:00Z"
FAILED = replace(FAIL, host="gpu-1")
EXCUSED = replace(FAILED, verdict="KNOWN_ISSUE", known_issue="upstream_bug")
NEVER_RAN = {"lock_sha256": None, "versions": {}, "started": None, "duration_s": None}
REFUSED = replace(FAILED, verdict="SKIPPED", cause="60 s are left.", **NEVER_RAN)


@pytest.fixture
def of_runs(tmp_path):
    """Return the board of runs, one a day, each given as its verdict on gpu-1, or that and other records."""

    def make(*runs, now=NOW, issues=(KNOWN,), unread=()):
        results = []
        for day, run in enumerate(runs, 1):
            verdict, changes = run if isinstance(run, tuple) else (run, {})
            folder = fill(tmp_path / f"run-{day}", "gpu-1", started=f"2026-11-{day:02}T02:00:00Z")
            add_host(folder, "gpu-1", verdict=verdict, **changes)
            results.append(gather_results(folder))
        named = {issue.name: issue for issue in issues}
        return make_board_of_runs(reversed(results), {"pt_ddp": "torch"}, named, now, list(unread))

    return make


def _of(build, lock):
    """Return a plan with another build of torch."""
    (planned,) = PLAN.environments
    other = replace(planned.build, version=build, lock_sha256=lock)
    return replace(PLAN, environments=(replace(planned, build=other),))


def with_more(**versions):
    return replace(PASS, versions={**PASS.versions, **versions})


def test_a_line_has_the_newest_verdict_and_since_when_it_is_so(of_runs):
    slow = replace(PASS, duration_s=400.0)
    (line,) = of_runs(PASS, FAILED, PASS, PASS, slow).lines
    place = (line.job, line.host, line.framework, line.version, line.build, line.nvflare)
    assert place == ("pt_ddp", "gpu-1", "torch", "2.15.0", "cu132", "2.7.3")
    assert (line.verdict, line.good, line.duration_s) == ("PASS", True, 400.0)
    assert (line.run, line.began) == ("run-5", "2026-11-05T02:00:00Z")
    assert (line.since_run, line.since) == ("run-3", "2026-11-03T02:00:00Z")
    assert line.changed == ["duration 200.4 → 400 s"]


def test_the_playbook_that_came_last_to_a_host_dates_its_run(tmp_path):
    results = []
    for name, began, verdict in (("a", "2026-11-09T00:00:00Z", FAILED), ("b", "2026-11-08T00:00:00Z", PASS)):
        add_host(fill(tmp_path / name, "gpu-1", began={"gpu-1": began}), "gpu-1", verdict=verdict)
        results.append(gather_results(tmp_path / name))
    (line,) = make_board_of_runs(results, {}, {}, NOW, []).lines
    assert (line.run, line.began, line.verdict) == ("a", "2026-11-09T00:00:00Z", "FAIL")


@pytest.mark.parametrize(
    ("was", "now", "changed"),
    [
        (PASS, PASS, []),
        (PASS, replace(PASS, duration_s=250.0), []),
        (PASS, replace(PASS, duration_s=251.0), ["duration 200.4 → 251 s"]),
        (PASS, replace(PASS, duration_s=100.0), ["duration 200.4 → 100 s"]),
        (PASS, FAILED, ["was PASS"]),
        (FAILED, PASS, [f"was FAIL: {FAIL.cause}"]),
        (FAILED, replace(FAILED, cause="Other."), [f"its cause was: {FAIL.cause}"]),
        (REFUSED, PASS, ["was SKIPPED: 60 s are left."]),
        (PASS, with_more(peft="1", numpy="2"), ["numpy none → 2", "peft none → 1"]),
        (PASS, replace(PASS, lock_sha256="f" * 64), ["another lock"]),
        (with_more(boot="a", vbios="96"), with_more(boot="b", vbios="96"), ["boot a → b"]),
        (with_more(examples="2.7.2"), with_more(examples="2.7.3"), ["examples 2.7.2 → 2.7.3"]),
    ],
)
def test_what_changed_against_the_run_before(of_runs, was, now, changed):
    plan = {"plan": _of("2.15.0", now.lock_sha256)} if now.lock_sha256 else {}
    (line,) = of_runs((was, {}), (now, plan)).lines
    assert line.changed == changed


def test_a_release_and_a_build_have_lines_of_their_own_that_begin_against_the_run_before(of_runs):
    newer = replace(PASS, versions={"torch": "2.16.0", "nvflare": "2.7.3"}, lock_sha256="f" * 64)
    upgraded = replace(FAILED, versions={"torch": "2.16.0", "nvflare": "2.8.3"}, lock_sha256="f" * 64)
    plan = {"plan": _of("2.16.0", "f" * 64)}
    lines = of_runs(PASS, (newer, plan), (upgraded, plan)).lines
    assert [(line.version, line.nvflare, line.verdict, line.since_run) for line in lines] == [
        ("2.15.0", "2.7.3", "PASS", "run-1"),
        ("2.16.0", "2.7.3", "PASS", "run-2"),
        ("2.16.0", "2.8.3", "FAIL", "run-3"),
    ]
    assert [line.changed for line in lines] == [
        [],
        ["torch 2.15.0 → 2.16.0", "another lock"],
        ["was PASS", "nvflare 2.7.3 → 2.8.3"],
    ]


def test_a_line_is_compared_with_its_own_run_before_if_it_has_one(of_runs):
    upgraded = replace(FAILED, versions={**FAIL.versions, "nvflare": "2.8.3"})
    other, own = of_runs(PASS, upgraded, PASS).lines
    assert (other.nvflare, other.changed) == ("2.8.3", ["was PASS", "nvflare 2.7.3 → 2.8.3"])
    assert (own.nvflare, own.changed) == ("2.7.3", [])


@pytest.mark.parametrize("runs", [(PASS, REFUSED), (REFUSED, PASS)])
def test_a_run_that_never_came_to_an_environment_counts_for_that_of_its_neighbour(of_runs, runs):
    (line,) = of_runs(*((run, {"plan": replace(PLAN, environments=())}) for run in runs)).lines
    assert (line.verdict, line.version, line.nvflare) == (runs[-1].verdict, "2.15.0", "2.7.3")
    assert line.changed


def test_one_that_was_planned_counts_for_the_plan(of_runs):
    lines = of_runs(PASS, (REFUSED, {"plan": _of("2.16.0", "f" * 64)})).lines
    assert [(line.version, line.verdict) for line in lines] == [("2.15.0", "PASS"), ("2.16.0", "SKIPPED")]
    (line,) = of_runs((REFUSED, {"plan": replace(PLAN, environments=())})).lines
    assert (line.framework, line.version, line.nvflare) == ("torch", None, None)


@pytest.mark.parametrize(
    ("run", "state"),
    [
        (PASS, "ok"),
        (FAILED, "failed"),
        (replace(FAILED, verdict="UNSUPPORTED"), "failed"),
        (EXCUSED, "ok"),
        (replace(EXCUSED, known_issue="another"), "failed"),
        (replace(FAILED, required=False), "failed"),
    ],
)
def test_it_is_good_if_every_newest_verdict_is(of_runs, run, state):
    assert of_runs(FAILED, run).state == state


def test_what_is_not_required_spoils_nothing(of_runs, tmp_path):
    plan = replace(PLAN, jobs=("pt_ddp", "extra"))
    write_record(tmp_path / "run-1/gpu-1/extra/verdict.json", replace(FAILED, job="extra", required=False))
    found = of_runs((PASS, {"plan": plan}))
    assert [(line.job, line.verdict) for line in found.lines] == [("extra", "FAIL"), ("pt_ddp", "PASS")]
    assert found.state == "ok"


def test_what_cannot_be_read_makes_the_answer_unknown(of_runs, tmp_path):
    assert of_runs(PASS, unread=["x"]).state == "unknown"
    assert of_runs(FAILED, unread=["x"]).state == "failed"
    folder = fill(tmp_path / "other", "gpu-1")
    add_host(folder, "gpu-1")
    path = folder / "gpu-1/pt_ddp/verdict.json"
    path.write_bytes(path.read_bytes().replace(b"verdict/2", b"verdict/9"))
    assert make_board_of_runs([gather_results(folder)], {}, {}, NOW, []).state == "unknown"
    assert make_board_of_runs([], {}, {}, NOW, []).state == "failed"


@pytest.mark.parametrize(("now", "good"), [("2027-05-31T23:00:00Z", True), ("2027-06-01T00:00:00Z", False)])
def test_a_known_issue_excuses_until_it_expires(of_runs, now, good):
    (line,) = of_runs(EXCUSED, now=now).lines
    assert (line.verdict, line.good) == ("KNOWN_ISSUE", good)
    assert (line.known_issue, line.expires, line.source) == (KNOWN.name, KNOWN.expires, KNOWN.source)


def test_a_pass_in_spite_of_a_known_issue_is_loud_as_long_as_that_is_listed(of_runs):
    unexpected = replace(PASS, known_issue="upstream_bug")
    (line,) = of_runs(unexpected).lines
    remedy = "Fix: remove it from judge/known_issues.json."
    assert line.notice == f"KNOWN ISSUE GONE: upstream_bug no longer shows. {remedy}"
    assert of_runs(PASS).lines[0].notice is None
    assert of_runs(unexpected, issues=()).lines[0].notice is None


def test_a_host_itself_has_a_line_if_its_newest_run_has_one(of_runs):
    nothing = (None, {"plan": None, "host": None, "left": "It vanished."})
    lines = of_runs(PASS, nothing).lines
    assert [(line.job, line.verdict, line.cause) for line in lines] == [
        (None, "SKIPPED", "It vanished."),
        ("pt_ddp", "PASS", None),
    ]
    assert [line.job for line in of_runs(PASS, nothing, PASS).lines] == ["pt_ddp"]  # whose newest is another


def test_hosts_that_are_ready_have_no_line(of_runs, tmp_path):
    add_host(fill(tmp_path / "r", "gpu-1", asked={"gpu-1": "preflight"}), "gpu-1", plan=None, verdict=None)
    assert make_board_of_runs([gather_results(tmp_path / "r")], {}, {}, NOW, []).lines == []


FIRST, SECOND, THIRD = (f"2026-11-{day:02}T02:00:00Z" for day in (1, 2, 3))


@pytest.fixture
def used(tmp_path, recordings):
    """Return what notes a verdict in a results folder, where the job was sent at a time, and its playbook."""
    spec = read_record(next(recordings.glob("runs/*/spec.json")), RunSpec)

    def make(name, verdict, at, **playbook):
        folder = fill(tmp_path / name, "gpu-1", **{"started": FIRST, "began": {"gpu-1": at}, **playbook})
        add_host(folder, "gpu-1", plan=replace(PLAN, jobs=(verdict.job,)), verdict=verdict)
        placed = PlacedRecord(run="/r", payload="/p", spec=spec, at=at)
        write_record(folder / "gpu-1" / f"{verdict.job}.placed.json", placed)
        return folder

    return make


def _verdicts(*folders):
    found = make_board_of_runs([gather_results(folder) for folder in folders], {}, {}, NOW, [])
    return {line.job: (line.verdict, line.began, line.changed) for line in found.lines}


def test_a_results_folder_that_is_used_twice_keeps_the_verdicts_of_both(used):
    folder = used("r", FAILED, FIRST)
    assert used("r", replace(PASS, job="llm_sft"), SECOND) == folder
    assert _verdicts(folder) == {"llm_sft": ("PASS", SECOND, []), "pt_ddp": ("FAIL", FIRST, [])}


def test_an_older_verdict_of_a_folder_used_again_is_not_the_newest(used):
    folder, other = used("r", PASS, FIRST), used("other", FAILED, SECOND)
    used("r", replace(PASS, job="llm_sft"), THIRD)
    assert _verdicts(folder, other)["pt_ddp"] == ("FAIL", SECOND, ["was PASS"])


def test_a_check_is_no_run(used):
    run = used("run", PASS, FIRST)
    only = used("only", PASS, SECOND, began={}, checked={"gpu-1": SECOND}, asked={"gpu-1": "plan"})
    (only / "gpu-1/pt_ddp/verdict.json").unlink()
    refusal = Outcome(host="gpu-1", stage="validate", state="failed", message="llm_sft is too late. Fix: x.")
    write_record(only / "gpu-1/refusal.json", refusal)
    assert _verdicts(run, only) == {"pt_ddp": ("PASS", FIRST, [])}
    checked = {"began": {"gpu-1": FIRST}, "checked": {"gpu-1": THIRD}, "asked": {"gpu-1": "plan"}}
    fill(run, "gpu-1", started=FIRST, **checked)
    write_record(run / "gpu-1/plan.json", replace(PLAN, jobs=("llm_sft",)))
    write_record(run / "gpu-1/refusal.json", refusal)
    assert _verdicts(run, only) == {"pt_ddp": ("PASS", FIRST, [])}


def test_a_playbook_that_asks_for_no_job_has_no_line(used):
    run = used("run", PASS, FIRST)
    planned = used("planned", PASS, SECOND, asked={"gpu-1": "plan"})
    (planned / "gpu-1/pt_ddp/verdict.json").unlink()
    left = Outcome(host="gpu-1", stage="plan", state="failed", message="No. Fix: x.")
    write_record(planned / "gpu-1/outcome.json", left)
    assert _verdicts(run, planned) == {"pt_ddp": ("PASS", FIRST, [])}
