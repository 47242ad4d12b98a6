"""Hosts that were to be read or prepared, and no more, are READY; that is no failure, and proves nothing."""

import xml.etree.ElementTree as ET

import pytest
from report_folders import FAIL, LEFT, NOW, add_host

from rekindle.records import PlaybookRecord, write
from rekindle.report import summary, write_reports
from rekindle.results.gather import gather


def asked(folder, **hosts):
    """Write run.json: which stage was the last of each host."""
    write(folder / "run.json", PlaybookRecord(run="r", started=NOW, hosts=tuple(hosts), asked=hosts))
    return folder


@pytest.mark.parametrize("stage", ["preflight", "plan"])
def test_nothing_says_failure(tmp_path, stage):
    add_host(asked(tmp_path, a=stage), "a", verdict=None)
    results = write_reports(tmp_path)
    assert (results.state, results.passed) == ("ready", False)
    (case,) = ET.fromstring((tmp_path / "junit.xml").read_bytes()).iter("testcase")
    assert [(child.tag, child.get("type")) for child in case] == [("skipped", "READY")]
    page = (tmp_path / "report.html").read_text()
    assert 'Rekindle: <span class="PASS">ready</span>' in page
    for said in (page, summary(results, tmp_path)):
        assert "SKIPPED" not in said.partition("</style>")[2 if "</style>" in said else 0]
        assert "not all proven" not in said


@pytest.mark.parametrize("stage", ["environments", "validate", "collect"])
def test_what_was_asked_for_and_did_not_come_home_is_skipped(tmp_path, stage):
    add_host(asked(tmp_path, a=stage), "a", verdict=None)
    results = gather(tmp_path)
    assert ([row.kind for row in results.rows], results.state) == (["SKIPPED"], "not proven")


def test_a_host_that_left_is_not_ready(tmp_path):
    add_host(asked(tmp_path, a="preflight"), "a", plan=None, verdict=None, left=LEFT)
    assert [row.kind for row in gather(tmp_path).rows] == ["SKIPPED"]


def test_verdicts_stay_what_they_are(tmp_path):
    add_host(asked(tmp_path, a="plan"), "a", verdict=FAIL)
    assert "READY" not in {row.kind for row in gather(tmp_path).rows}


def test_beside_proven_hosts_one_that_is_ready_is_not_proven(tmp_path):
    asked(tmp_path, a="validate", b="preflight")
    add_host(tmp_path, "a")
    add_host(tmp_path, "b", plan=None, verdict=None)
    results = write_reports(tmp_path)
    assert (results.state, results.passed) == ("not proven", False)
    cases = ET.fromstring((tmp_path / "junit.xml").read_bytes()).iter("testcase")
    assert [[child.tag for child in case] for case in cases] == [[], ["error"]]
