"""junit.xml: only PASS is green, and any text makes well-formed XML 1.0."""

import xml.etree.ElementTree as ET

import msgspec
import pytest
from junitparser import JUnitXml
from report_folders import FAIL, PASS, add_host, fill, three_hosts

from rekindle.report.junit import junit
from rekindle.results.gather import gather


def test_a_suite_for_each_host_and_a_case_for_each_job(tmp_path):
    report = ET.fromstring(junit(gather(three_hosts(tmp_path))))
    assert [suite.get("name") for suite in report] == ["gpu-1", "gpu-2", "gpu-3"]
    assert [case.get("name") for case in report.iter("testcase")] == ["pt_ddp", "pt_ddp", "host"]
    assert (report.get("tests"), report.get("failures"), report.get("errors")) == ("3", "1", "1")
    assert report.find("testsuite/testcase").get("time") == "200.4"


@pytest.mark.parametrize(
    ("kind", "tag"),
    [
        ("PASS", None),
        ("FAIL", "failure"),
        ("HUNG", "failure"),
        ("UNPROVEN", "failure"),
        ("SKIPPED", "error"),
        ("UNSUPPORTED", "error"),
        ("KNOWN_ISSUE", "error"),
    ],
)
def test_only_pass_is_green(tmp_path, kind, tag):
    verdict = PASS if kind == "PASS" else msgspec.structs.replace(FAIL, verdict=kind)
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=verdict)
    (case,) = ET.fromstring(junit(gather(tmp_path))).iter("testcase")
    assert [child.tag for child in case] == ([tag] if tag else [])
    if tag:
        assert case[0].get("type") == kind
        assert case[0].get("message") == f"{kind}: {FAIL.cause}"
        assert case[0].text == FAIL.remedy


def test_a_job_that_is_not_required_is_skipped_when_it_is_no_pass(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", verdict=msgspec.structs.replace(FAIL, required=False))
    (case,) = ET.fromstring(junit(gather(tmp_path))).iter("testcase")
    assert [child.tag for child in case] == ["skipped"]


def test_a_run_without_hosts_is_an_error(tmp_path):
    report = JUnitXml.fromstring(junit(gather(fill(tmp_path))))
    assert (report.tests, report.errors) == (1, 1)


def test_any_text_is_well_formed(tmp_path):
    every = "".join(map(chr, range(0xA0))) + "\u2028\ufffe\uffff<script>\"']]>&\x1b[31m"
    name = "h<&\"'\x01\x1b[31m"
    verdict = msgspec.structs.replace(FAIL, cause=every, remedy=every)
    add_host(fill(tmp_path, name), name, verdict=verdict)
    text = junit(gather(tmp_path))
    (suite,) = ET.fromstring(text)
    assert suite.get("name") == "h<&\"'"
    (problem,) = suite.iter("failure")
    assert "<script>\"']]>&" in str(problem.get("message"))
    assert "<script>\"']]>&" in str(problem.text)
    assert "\x1b" not in text.decode()
