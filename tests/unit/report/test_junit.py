# SPDX-License-Identifier: Apache-2.0
"""junit.xml: only PASS is green, and any text makes well-formed XML 1.0."""

import xml.etree.ElementTree as ET

import pytest
from junitparser import JUnitXml
from msgspec.structs import replace
from samples.folders import FAIL, LEFT, PASS, add_host, fill, three_hosts

from rekindle.records import Outcome, read_record, write_record
from rekindle.report.answer import format_answer
from rekindle.report.data import make_results_data
from rekindle.report.html import Pages
from rekindle.report.junit import render_junit
from rekindle.report.metrics import render_metrics
from rekindle.results.contents import gather_results


def test_a_suite_for_each_host_and_a_case_for_each_job(tmp_path):
    report = ET.fromstring(render_junit(gather_results(three_hosts(tmp_path))))
    assert [suite.get("name") for suite in report] == ["gpu-1", "gpu-2", "gpu-3"]
    assert [case.get("name") for case in report.iter("testcase")] == ["pt_ddp", "pt_ddp", "host"]
    assert (report.get("tests"), report.get("failures"), report.get("errors")) == ("3", "1", "1")
    assert report.find("testsuite/testcase").get("time") == "200.4"


def test_a_run_without_hosts_is_an_error(tmp_path):
    report = JUnitXml.fromstring(render_junit(gather_results(fill(tmp_path))))
    assert (report.tests, report.errors) == (1, 1)


@pytest.mark.parametrize(
    ("tag", "kinds"),
    [
        (None, ["PASS"]),
        ("failure", ["FAIL", "HUNG", "UNPROVEN"]),
        ("error", ["SKIPPED", "UNSUPPORTED", "KNOWN_ISSUE"]),
        ("skipped", ["FAIL", "UNPROVEN"]),  # of a job that is not required
    ],
)
def test_only_pass_is_green(tmp_path, kinds, tag):
    for kind in kinds:
        failed = replace(FAIL, verdict=kind, required=tag != "skipped")
        add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=PASS if kind == "PASS" else failed)
        (case,) = ET.fromstring(render_junit(gather_results(tmp_path))).iter("testcase")
        tags = [(child.tag, child.get("type"), child.get("message"), child.text) for child in case]
        assert tags == ([(tag, kind, f"{kind}: {FAIL.cause}", FAIL.remedy)] if tag else [])


def test_what_acceptance_asks_for_stands_before_its_remedy(tmp_path):
    failed = replace(FAIL, action="DRAIN")
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=failed)
    (case,) = ET.fromstring(render_junit(gather_results(tmp_path))).iter("testcase")
    assert [child.text for child in case] == [f"DRAIN: {FAIL.remedy}"]


def test_a_host_that_preflight_refused_has_its_action(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=None, verdict=None, left=LEFT)
    outcome = read_record(tmp_path / "gpu-1/outcome.json", Outcome)
    write_record(tmp_path / "gpu-1/outcome.json", replace(outcome, action="RESET_GPU"))
    (case,) = ET.fromstring(render_junit(gather_results(tmp_path))).iter("testcase")
    assert case[0].text == "RESET_GPU: lease the host again."
    assert (
        'rekindle_host_action{action="RESET_GPU",host="gpu-1"} 1.0'
        in render_metrics(gather_results(tmp_path)).decode()
    )
    assert "remedy: RESET_GPU: lease the host again." in format_answer(
        gather_results(tmp_path), None, 100, False
    )
    (row,) = make_results_data(gather_results(tmp_path)).rows
    assert row.action == "RESET_GPU"
    assert '<b class="action">RESET_GPU</b>' in Pages(gather_results(tmp_path)).render_all()
