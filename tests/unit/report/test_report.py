"""The reports: the same rows everywhere, nothing green that is not proven, nothing from a host obeyed."""

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import msgspec
import pytest

from rekindle import records, report
from rekindle.records import Outcome, RunRecord, VerdictRecord, read, write
from rekindle.report.table import table
from rekindle.report.text import clean, duration

HOSTILE = '<script>alert("x")</script>\x1b[31m\x00[bold]"\'&\u202e'


@pytest.fixture
def results(tmp_path, recordings):
    """Return a results folder: one host that passed, one that could not be reached."""
    folder = tmp_path / "20261121T020000Z"
    write(
        folder / "run.json",
        RunRecord(run=folder.name, started="2026-11-21T02:00:00Z", hosts=("good", "lost")),
    )
    for name in ("host", "plan", "env"):
        (folder / "good").mkdir(exist_ok=True)
        text = (recordings / "h200-x2" / f"{name}.json").read_text()
        (folder / "good" / f"{name}.json").write_text(text)
    (folder / "good" / "pt_ddp").mkdir()
    verdict = (recordings / "runs" / "pt_ddp-h200-x2" / "verdict.json").read_text()
    (folder / "good" / "pt_ddp" / "verdict.json").write_text(verdict)
    lost = Outcome(
        host="lost", stage="preflight", state="unreachable", says="ssh: refused. Fix: check its port."
    )
    write(folder / "lost" / "outcome.json", lost)
    return folder


def _only(folder, host):
    run = read(folder / "run.json", RunRecord)
    write(folder / "run.json", msgspec.structs.replace(run, hosts=(host,)))


def _change(folder, **changes):
    path = folder / "good" / "pt_ddp" / "verdict.json"
    write(path, msgspec.structs.replace(read(path, VerdictRecord), **changes))


def _rows(folder):
    return [(row.host, row.job, row.kind) for row in report.write_reports(folder).rows]


def test_a_host_that_never_got_there_is_a_row_with_its_cause(results):
    found = report.write_reports(results)
    assert [(row.host, row.job, row.kind) for row in found.rows] == [
        ("good", "pt_ddp", "PASS"),
        ("lost", None, "SKIPPED"),
    ]
    assert "Fix: check its port" in found.rows[1].cause
    assert not found.passed


def test_passed_takes_every_row(results):
    _only(results, "good")
    assert report.write_reports(results).passed


@pytest.mark.parametrize("verdict", ["FAIL", "HUNG", "UNPROVEN", "UNSUPPORTED", "SKIPPED", "KNOWN_ISSUE"])
def test_nothing_but_pass_is_green(results, verdict):
    _only(results, "good")
    _change(results, verdict=verdict, cause="because", remedy="do")
    assert not report.write_reports(results).passed
    suite = ET.parse(results / "junit.xml").getroot().find("testsuite")
    assert int(suite.get("failures")) + int(suite.get("errors")) == 1
    assert json.loads((results / "results.json").read_text())["passed"] is False


def test_a_run_without_hosts_did_not_pass(tmp_path):
    write(tmp_path / "run.json", RunRecord(run="r", started="2026-11-21T02:00:00Z", hosts=()))
    assert not report.write_reports(tmp_path).passed


def test_a_planned_job_without_a_verdict_is_skipped(results):
    (results / "good" / "pt_ddp" / "verdict.json").unlink()
    assert _rows(results)[0] == ("good", "pt_ddp", "SKIPPED")


@pytest.mark.parametrize("file", ["host.json", "plan.json", "env.json", "pt_ddp/verdict.json"])
def test_a_broken_record_is_a_row_and_not_a_crash(results, file):
    _only(results, "good")
    (results / "good" / file).write_text("{")
    found = report.write_reports(results)
    assert not found.passed
    assert any(row.kind == "UNPROVEN" and "is no" in row.cause for row in found.rows)


def test_a_folder_that_is_no_results_folder_is_refused(tmp_path):
    with pytest.raises(records.RecordError, match=r"is no results folder.*Fix:"):
        report.run(tmp_path)


def test_the_verb_tells_by_its_status(results, capsys):
    assert report.run(results) == 1
    _only(results, "good")
    assert report.run(results) == 0
    assert "report.html" in capsys.readouterr().out


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.polylines = [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.polylines += tag == "polyline"
        self.links += [value for name, value in attrs if name in {"src", "href"}]


def test_the_page_needs_nothing_from_outside(results):
    report.write_reports(results)
    page = _Page((results / "report.html").read_text())
    assert page.links == []
    assert "script" not in page.tags
    assert page.polylines == 4  # loss and accuracy, one line a site


def test_the_page_shows_verdict_evidence_and_devices(results):
    report.write_reports(results)
    text = (results / "report.html").read_text()
    for word in ("PASS", "rounds_aggregated", "NVIDIA H200", "580.159.04", "log.txt", "SKIPPED"):
        assert word in text


def test_what_a_host_says_is_never_obeyed(results):
    _only(results, "good")
    evidence = read(results / "good" / "pt_ddp" / "verdict.json", VerdictRecord).evidence[0]
    _change(
        results,
        verdict="FAIL",
        cause=HOSTILE,
        remedy=HOSTILE,
        evidence=(msgspec.structs.replace(evidence, says=HOSTILE, file=HOSTILE, claim=HOSTILE),),
        versions={HOSTILE: HOSTILE},
    )
    found = report.write_reports(results)
    assert "script" not in _Page((results / "report.html").read_text()).tags
    ET.parse(results / "junit.xml")
    shown = table(found, 100, colour=False)
    assert "\x1b" not in shown
    assert "\x00" not in shown
    assert "[bold]" in shown


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_table_keeps_to_its_width_and_loses_no_word(results, width):
    _only(results, "good")
    cause = "site-2 rank 0 raised ValueError: " + "a rather long explanation " * 8
    _change(results, verdict="FAIL", cause=cause, remedy="x")
    shown = table(report.write_reports(results), width, colour=False)
    assert max(map(len, shown.splitlines())) <= width
    assert shown.count("explanation") == 8


def test_gpus_are_counted_by_what_they_are(results):
    assert "2 × NVIDIA H200" in table(report.write_reports(results), 160, colour=False)


@pytest.mark.parametrize(("seconds", "said"), [(None, "–"), (47.4, "47 s"), (200.2, "3 min 20 s")])
def test_durations_are_said_as_a_person_says_them(seconds, said):
    assert duration(seconds) == said


def test_clean_keeps_what_people_write():
    assert clean("ä ≥ 1\n\ttab") == "ä ≥ 1\n\ttab"
