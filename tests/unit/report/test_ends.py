"""Hosts that were lost, given back or only read are named so in every report."""

import json
import re
import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace
from report_folders import LEFT, NOW, PLAN, add_host

from rekindle.records import PlaybookRecord, RetiredRecord, write
from rekindle.report.answer import answer_text
from rekindle.report.reports import summary, write_reports


@pytest.fixture
def reports(tmp_path):
    """Write reports on hosts of which a stage was asked; return results, page, and JUnit's cases."""

    def run(**asked):
        write(tmp_path / "run.json", PlaybookRecord(run="r", started=NOW, hosts=tuple(asked), asked=asked))
        results = write_reports(tmp_path)
        cases = ET.fromstring((tmp_path / "junit.xml").read_bytes()).iter("testcase")
        tags = [[(child.tag, child.get("type")) for child in case] for case in cases]
        return results, (tmp_path / "report.html").read_text(), tags

    return run


def test_lost(reports, tmp_path):
    plan = replace(PLAN, jobs=("pt_ddp", "tf_mirrored"))
    add_host(tmp_path, "gpu-1", plan=plan, left=LEFT, state="unreachable")
    results, page, cases = reports(**{"gpu-1": "validate"})
    message = "lost during validate. The lease ended."
    text = answer_text(results, None, 400, colour=False)
    assert f"LOST: The host was {message}\n  tf_mirrored on gpu-1\n  remedy: lease the host again.\n" in text
    assert re.search(r"gpu-1 +pt_ddp +PASS", text)
    assert "\x1b[31mLOST" in answer_text(results, None, 250, colour=True)
    assert 'title="LOST">L</a>' in page
    assert f"The host was {message}" in page
    row = json.loads((tmp_path / "results.json").read_text())["rows"][1]
    assert (row["verdict"], message in row["cause"]) == ("LOST", True)
    assert cases == [[], [("error", "LOST")]]


def test_retired_is_neither_green_nor_red(reports, tmp_path):
    write(tmp_path / "gpu-1" / "retired.json", RetiredRecord(host="gpu-1", retired=NOW))
    _, page, cases = reports(**{"gpu-1": "retire"})
    assert cases == [[("skipped", "RETIRED")]]
    assert 'title="RETIRED">T</a>' in page
    assert '<h1 class="PASS">0 of 1 hosts proven; 1 RETIRED.</h1>' in page


def test_ready_is_no_failure_and_proves_nothing(reports, tmp_path):
    add_host(tmp_path, "a", verdict=None)
    results, page, cases = reports(a="preflight")
    assert (results.state, results.passed) == ("ready", False)
    assert cases == [[("skipped", "READY")]]
    assert '<h1 class="PASS">0 of 1 hosts proven; 1 READY.</h1>' in page
    for text in (page.partition("</style>")[2], summary(results, tmp_path)):
        assert "SKIPPED" not in text
        assert "not all proven" not in text


def test_beside_proven_hosts_one_that_is_ready_is_not_proven(reports, tmp_path):
    add_host(tmp_path, "a")
    add_host(tmp_path, "b", plan=None, verdict=None)
    results, _, cases = reports(a="validate", b="preflight")
    assert (results.state, results.passed) == ("not proven", False)
    assert cases == [[], [("error", "READY")]]
