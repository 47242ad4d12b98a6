# SPDX-License-Identifier: Apache-2.0
"""Findings in every report, and a known issue that no longer shows."""

import xml.etree.ElementTree as ET

from msgspec.structs import replace
from samples.folders import FAIL, PASS, add_host, fill

from rekindle.records import Diagnosis, Finding, Moment
from rekindle.report.answer import format_answer
from rekindle.report.data import make_results_data
from rekindle.report.findings import format_diagnosis
from rekindle.report.html import Pages
from rekindle.report.junit import render_junit
from rekindle.results.contents import gather_results

GONE = replace(PASS, known_issue="slow_quantiser")
LOUD = "KNOWN ISSUE GONE: slow_quantiser no longer shows. Fix: remove it from judge/known_issues.json."
HOW = {
    "confirm": "df -h",
    "layer": "host",
    "remedy": "Free it.",
    "confidence": "certain",
    "file": "job.log",
    "line": 3,
}
ROOT = Finding(name="no_space", cause="A disk <full>.", **HOW)
ECHO = replace(ROOT, name="not_a_dxo", cause="An empty result.", echo=True, line=None)


def _reports(folder, verdict):
    add_host(fill(folder, "gpu-1"), "gpu-1", verdict=verdict)
    results = gather_results(folder)
    return {
        "table": " ".join(format_answer(results, None, 300, colour=False).split()),
        "html": Pages(results).render_all(),
        "page": Pages(results).render_host(results.hosts[0]),
        "junit": render_junit(results).decode(),
        "data": str(make_results_data(results).rows[0].notice),
    }


def test_every_report_names_a_known_issue_that_no_longer_shows_in_a_run_that_passed(tmp_path):
    reports = _reports(tmp_path, GONE)
    loud, remedy = LOUD.split(" Fix: ")
    for name, text in reports.items():
        assert loud in text, name
        assert remedy in text, name
    (case,) = ET.fromstring(reports["junit"]).iter("testcase")
    assert [child.tag for child in case] == ["system-err"]
    for verdict in (PASS, replace(FAIL, known_issue="slow_quantiser")):
        assert not any("KNOWN ISSUE GONE" in text for text in _reports(tmp_path, verdict).values())


def test_the_page_lists_layer_root_cause_and_echoes(tmp_path):
    page = _reports(tmp_path, replace(FAIL, layer="host", findings=(ROOT, ECHO)))["page"]
    assert "<b>Layer:</b> host" in page
    assert "A disk &lt;full&gt;." in page
    assert "<code>job.log:3</code>" in page
    assert "echo: An empty result." in page
    assert page.count("to confirm: <code>df -h</code>") == 1


MOMENT = Moment(
    time="2026-11-21 02:00:00.000",
    process="site-1",
    message="KeyError: 'x'",
    after="the log goes on for 3 s",
    file="site-1/log.txt",
    line=7,
)


def test_a_terminal_shows_the_cause_first_and_the_timeline_last(golden):
    other = replace(ROOT, name="wrong_device", cause="A wrong device.")
    golden(*format_diagnosis(Diagnosis(cause=ROOT, others=(other, ECHO), timeline=(MOMENT,))).splitlines())


def test_without_a_cause_it_says_what_may_be_one_and_never_nothing(golden):
    unknown, possible = Diagnosis(cause=None, timeline=(MOMENT,)), Diagnosis(cause=None, others=(ROOT,))
    well = Diagnosis(cause=None, timeline=(MOMENT,), went_on=True)
    echo = Diagnosis(cause=None, others=(ECHO,))
    golden(*(format_diagnosis(one) for one in (unknown, possible, well, echo, Diagnosis(cause=None))))
