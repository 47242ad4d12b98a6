"""Every gap and every broken record becomes a row; nothing of it is green."""

import json

import msgspec
import pytest
from report_folders import FAIL, LEFT, NOW, PASS, PLAN, add_host, fill, three_hosts

from rekindle.cli import judge
from rekindle.cli.report import standing
from rekindle.cli.verb import BAD, UNTOLD
from rekindle.records import (
    Device,
    PlacedRecord,
    PlaybookRecord,
    RecordError,
    RunSpec,
    Seen,
    moment,
    read,
    write,
)
from rekindle.report import write_reports
from rekindle.report.table import table
from rekindle.results.gather import gather
from rekindle.results.journal import keep_playing
from rekindle.results.row import Row


def rows(folder):
    return [(row.host, row.job, row.kind) for row in gather(folder).rows]


def test_a_row_for_each_host_and_job(tmp_path):
    assert rows(three_hosts(tmp_path)) == [
        ("gpu-1", "pt_ddp", "PASS"),
        ("gpu-2", "pt_ddp", "FAIL"),
        ("gpu-3", None, "SKIPPED"),
    ]


def test_all_pass_is_passed(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    assert gather(tmp_path).passed


@pytest.mark.parametrize("kind", ["FAIL", "HUNG", "UNPROVEN", "UNSUPPORTED", "SKIPPED", "KNOWN_ISSUE"])
def test_one_row_that_is_no_pass_is_not_passed(tmp_path, kind):
    fill(tmp_path, "gpu-1", "gpu-2")
    add_host(tmp_path, "gpu-1")
    add_host(tmp_path, "gpu-2", verdict=msgspec.structs.replace(FAIL, verdict=kind))
    assert not gather(tmp_path).passed


def test_a_host_that_says_something_else_than_its_files_is_loud_in_every_report(tmp_path):
    fill(tmp_path, "gpu-1", "gpu-2")
    add_host(tmp_path, "gpu-1", verdict=msgspec.structs.replace(PASS, host_says="FAIL"))
    add_host(tmp_path, "gpu-2", verdict=msgspec.structs.replace(FAIL, host_says="PASS"))
    results = write_reports(tmp_path)
    first, second = "The host itself says FAIL, and", "The host itself says PASS, and"
    assert [row["host_says"] for row in json.loads((tmp_path / "results.json").read_text())["rows"]] == [
        "FAIL",
        "PASS",
    ]
    shown = [table(results, 200, False)]
    shown += [(tmp_path / name).read_text() for name in ("results.json", "junit.xml", "report.html")]
    for text in shown:
        assert first in text
        assert second in text


@pytest.mark.parametrize("said", [None, "PASS"])
def test_a_host_that_says_the_same_or_nothing_is_not_shown(tmp_path, said):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=msgspec.structs.replace(PASS, host_says=said))
    (row,) = gather(tmp_path).rows
    assert (row.cause, row.notice) == (None, None)


def test_a_job_that_is_not_required_may_fail_but_does_not_pass_a_run_alone(tmp_path):
    optional = msgspec.structs.replace(FAIL, required=False)
    add_host(fill(tmp_path, "gpu-1", "gpu-2"), "gpu-1", verdict=optional)
    add_host(tmp_path, "gpu-2", verdict=optional)
    assert not gather(tmp_path).passed
    add_host(tmp_path, "gpu-2", verdict=PASS)
    assert gather(tmp_path).passed


def test_a_run_without_hosts_is_not_passed(tmp_path):
    results = gather(fill(tmp_path))
    assert results.rows == ()
    assert not results.passed


def test_a_host_without_records_says_so(tmp_path):
    (row,) = gather(fill(tmp_path, "gpu-1")).rows
    assert (row.kind, row.job) == ("SKIPPED", None)
    assert "No verdict came home" in str(row.cause)
    assert "Fix:" in str(row.cause)


def test_a_missing_verdict_takes_the_sentence_of_the_outcome(tmp_path):
    plan = msgspec.structs.replace(PLAN, jobs=("pt_ddp", "tf_mirrored"))
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=plan, left=LEFT)
    assert rows(tmp_path) == [("gpu-1", "pt_ddp", "PASS"), ("gpu-1", "tf_mirrored", "SKIPPED")]
    assert gather(tmp_path).rows[1].cause == LEFT


def test_a_host_that_left_before_its_plan_takes_the_sentence_too(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=None, verdict=None, left=LEFT)
    (row,) = gather(tmp_path).rows
    assert (row.job, row.kind, row.cause) == (None, "SKIPPED", LEFT)


def test_an_earlier_pass_does_not_count_for_a_host_that_left(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", left=LEFT)
    results = gather(tmp_path)
    assert not results.passed
    assert results.rows[-1].cause == LEFT


def test_verdicts_without_a_plan_do_not_pass(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=None)
    assert rows(tmp_path) == [("gpu-1", "pt_ddp", "PASS"), ("gpu-1", None, "SKIPPED")]
    assert "No plan" in str(gather(tmp_path).rows[1].cause)


def test_a_plan_without_jobs_does_not_pass(tmp_path):
    plan = msgspec.structs.replace(PLAN, jobs=())
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=plan, verdict=None)
    (row,) = gather(tmp_path).rows
    assert (row.kind, "rekindle_jobs" in str(row.cause)) == ("SKIPPED", True)


@pytest.mark.parametrize(
    "file", ["host.json", "plan.json", "env.json", "outcome.json", "pt_ddp/verdict.json"]
)
@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"schema": "rekindle/other/1"}'])
def test_an_unreadable_record_is_an_unproven_row(tmp_path, file, content):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    (tmp_path / "gpu-1" / file).write_bytes(content)
    results = gather(tmp_path)
    (row,) = [row for row in results.rows if row.kind == "UNPROVEN"]
    assert file in str(row.cause)
    assert "Fix:" in str(row.cause)
    assert not results.passed


def test_a_record_that_is_a_folder_is_unproven(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=None)
    (tmp_path / "gpu-1" / "pt_ddp" / "verdict.json").mkdir(parents=True)
    assert rows(tmp_path) == [("gpu-1", "pt_ddp", "UNPROVEN")]


def test_a_dangling_link_is_unproven(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    path = tmp_path / "gpu-1" / "pt_ddp" / "verdict.json"
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    assert rows(tmp_path) == [("gpu-1", "pt_ddp", "UNPROVEN")]


def test_one_broken_verdict_leaves_the_others(tmp_path):
    three_hosts(tmp_path)
    (tmp_path / "gpu-1/pt_ddp/verdict.json").write_text("{")
    assert [kind for *_, kind in rows(tmp_path)] == ["UNPROVEN", "FAIL", "SKIPPED"]


@pytest.mark.parametrize("content", [None, "{", json.dumps({"run": "r"})])
def test_no_results_folder_is_one_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RecordError, match=r"run\.json.*Fix: ") as error:
        gather(tmp_path)
    assert "\n" not in str(error.value)


def test_gpus_are_counted_by_uuid_and_not_by_rank():
    def gpus(*devices):
        return Row("h", "j", "PASS", None, msgspec.structs.replace(PASS, devices=devices)).gpus

    def device(rank, device, uuid=None, name="NVIDIA A30"):
        return Device(site="site-1", rank=rank, device=device, uuid=uuid, name=name)

    assert gpus(device(0, "cuda:0", "GPU-a"), device(1, "cuda:0", "GPU-a")) == "1 × NVIDIA A30"
    assert gpus(device(0, "cuda:0", None, None), device(1, "cuda:1", None, None)) == "2 × GPU"
    assert gpus(device(0, "cpu", None, None)) == "CPU"
    assert gpus(device(0, "/device:CPU:0", None, None), device(1, "/device:CPU:1", None, None)) == "CPU"
    assert gpus() == "–"


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "gpu-2"},
        {"job": "another"},
        {"evidence": ()},
        {"evidence": (msgspec.structs.replace(PASS.evidence[0], holds=None),)},
        {"evidence": (msgspec.structs.replace(PASS.evidence[0], holds=False),)},
        {"started": None},
        {"duration_s": None},
        {"rounds": ()},
        {"cause": "It failed."},
        {"remedy": "Mend it."},
    ],
)
def test_a_pass_that_shows_nothing_or_is_of_another_is_none(tmp_path, changes):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    write(tmp_path / "gpu-1" / "pt_ddp" / "verdict.json", msgspec.structs.replace(PASS, **changes))
    results = gather(tmp_path)
    assert not results.passed
    assert [row.kind for row in results.rows] == ["UNPROVEN"]
    assert "Fix: " in (results.rows[0].cause or "")


BEGAN = "2026-11-21T08:00:00Z"


@pytest.fixture
def going_on(tmp_path, recordings):
    """Return what makes a results folder in which a playbook goes on."""
    spec = read(next(recordings.glob("runs/*/spec.json")), RunSpec)
    held = []

    def make(jobs=("pt_ddp",), sent=BEGAN, **records):
        playbook = PlaybookRecord(run="r", started=BEGAN, hosts=("gpu-1",), began={"gpu-1": BEGAN})
        write(tmp_path / "run.json", playbook)
        add_host(tmp_path, "gpu-1", **{"plan": msgspec.structs.replace(PLAN, jobs=jobs), **records})
        placed = PlacedRecord(run="/r", payload="/p", spec=spec, at=sent)
        write(tmp_path / "gpu-1" / "pt_ddp.placed.json", placed)
        held.append(keep_playing(tmp_path))
        return tmp_path

    yield make
    for stream in held:
        stream.close()


def test_a_verdict_that_is_still_to_come_is_running(going_on):
    folder = going_on(("pt_ddp", "llm_sft"), verdict=None)
    seen = Seen(what="pt_ddp", says="round 2/3, about 9 s left", at="2026-11-21T08:01:00Z")
    write(folder / "gpu-1" / "seen.json", seen)
    results = write_reports(folder)
    assert (results.state, results.passed, standing(results)) == ("running", False, UNTOLD)
    assert judge.run(folder).status == UNTOLD
    first, second = results.rows
    assert (first.kind, second.kind) == ("RUNNING", "RUNNING")
    assert str(first.cause).startswith("pt_ddp: round 2/3, about 9 s left, at ")
    assert second.cause == "It has not started yet."
    for name in ("results.json", "junit.xml", "report.html"):
        assert "RUNNING" in (folder / name).read_text()
        assert "SKIPPED: " not in (folder / name).read_text()


def test_a_host_of_which_nothing_is_known_yet_is_running(going_on):
    folder = going_on(host=None, plan=None, verdict=None)
    assert rows(folder) == [("gpu-1", None, "RUNNING")]


@pytest.mark.parametrize(("sent", "kind"), [("2026-11-20T08:00:00Z", "RUNNING"), (BEGAN, "PASS")])
def test_a_verdict_of_before_is_not_that_of_the_playbook_that_goes_on(going_on, sent, kind):
    assert rows(going_on(sent=sent)) == [("gpu-1", "pt_ddp", kind)]


def test_a_host_that_left_a_playbook_that_goes_on_is_not_running(going_on):
    assert rows(going_on(verdict=None, left=LEFT)) == [("gpu-1", "pt_ddp", "SKIPPED")]


def test_a_failure_beside_what_runs_is_a_bad_answer(going_on):
    folder = going_on(("pt_ddp", "llm_sft"), verdict=FAIL)
    assert rows(folder) == [("gpu-1", "pt_ddp", "FAIL"), ("gpu-1", "llm_sft", "RUNNING")]
    assert standing(gather(folder)) == BAD


def test_a_run_that_nobody_follows_any_more_may_still_run(tmp_path, recordings):
    spec = read(next(recordings.glob("runs/*/spec.json")), RunSpec)
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=None)
    write(tmp_path / "gpu-1/pt_ddp.placed.json", PlacedRecord(run="/r", payload="/p", spec=spec))
    (row,) = gather(tmp_path).rows
    assert (row.kind, "may still run" in str(row.cause)) == ("SKIPPED", True)


@pytest.mark.parametrize(
    ("began", "form"), [("2026-11-21T09:40:00Z", "%H:%M"), ("2026-11-23T09:40:00Z", "%Y-%m-%d %H:%M")]
)
def test_a_pass_that_was_kept_says_so_in_every_report(tmp_path, recordings, began, form):
    says = f"kept, of {moment('2026-11-21T09:12:07Z').astimezone().strftime(form)}"
    spec = read(next(recordings.glob("runs/*/spec.json")), RunSpec)
    playbook = PlaybookRecord(run="r", started=began, hosts=("gpu-1",), began={"gpu-1": began})
    write(tmp_path / "run.json", playbook)
    add_host(tmp_path, "gpu-1")
    kept = PlacedRecord(run="/r", payload="/p", spec=spec, at=began, kept="2026-11-21T09:12:07Z")
    write(tmp_path / "gpu-1/pt_ddp.placed.json", kept)
    results = write_reports(tmp_path)
    assert results.passed
    assert says in table(results, 120, False)
    for name in ("report.html", "junit.xml"):
        assert says in (tmp_path / name).read_text()
    assert json.loads((tmp_path / "results.json").read_text())["rows"][0]["kept"] == kept.kept


def test_a_host_without_gpus_has_nothing_to_accept(tmp_path):
    playbook = PlaybookRecord(run="r", started=NOW, hosts=("a",), asked={"a": "accept"})
    write(tmp_path / "run.json", playbook)
    add_host(tmp_path, "a", verdict=None)
    assert rows(tmp_path) == [("a", None, "READY")]


def test_after_a_check_of_other_jobs_what_ran_is_shown_too(tmp_path):
    playbook = PlaybookRecord(
        run="r", started=NOW, hosts=("a",), began={"a": NOW}, checked={"a": BEGAN}, asked={"a": "plan"}
    )
    write(tmp_path / "run.json", playbook)
    add_host(tmp_path, "a", plan=msgspec.structs.replace(PLAN, jobs=("llm_sft",)))
    assert rows(tmp_path) == [("a", "pt_ddp", "PASS"), ("a", "llm_sft", "SKIPPED")]
