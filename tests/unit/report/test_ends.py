# SPDX-License-Identifier: Apache-2.0
"""Hosts that were lost, given back or only read are named so in every report."""

import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace
from samples.folders import LEFT, NOTHING, NOW, PLAN, add_host, fill

from rekindle.records import RetiredRecord, write_record
from rekindle.report.answer import format_answer
from rekindle.report.reports import write_reports

TWO = replace(PLAN, jobs=("pt_ddp", "tf_mirrored"))


def cases(folder):
    """Return what JUnit has of each case that is not green."""
    found = ET.fromstring((folder / "junit.xml").read_bytes()).iter("testcase")
    return [[(child.tag, child.get("type")) for child in case] for case in found]


@pytest.mark.parametrize(
    ("asked", "records", "kind", "tags"),
    [
        ("validate", {"plan": TWO, "left": LEFT, "state": "unreachable"}, "LOST", [[], ["error"]]),
        ("retire", NOTHING, "RETIRED", [["skipped"]]),  # neither green nor red
        ("preflight", {"verdict": None}, "READY", [["skipped"]]),
    ],
)
def test_a_host_that_ended_so_is_named_so(tmp_path, asked, records, kind, tags):
    add_host(fill(tmp_path, "gpu-1", asked={"gpu-1": asked}), "gpu-1", **records)
    if asked == "retire":
        write_record(tmp_path / "gpu-1" / "retired.json", RetiredRecord(host="gpu-1", retired=NOW))
    results = write_reports(tmp_path)
    assert cases(tmp_path) == [[(tag, kind) for tag in case] for case in tags]
    colour = "FAIL" if kind == "LOST" else "PASS"
    page = (tmp_path / "report.html").read_text()
    assert f'<h1 class="{colour}">0 of 1 hosts proven; 1 {kind}.</h1>' in page
    assert "SKIPPED" not in page.partition("</style>")[2] + format_answer(results, tmp_path, 120, False)
    assert ("\x1b[31mLOST" in format_answer(results, None, 250, colour=True)) is (kind == "LOST")
    assert (results.state, results.passed) == ("not proven" if kind == "LOST" else kind.lower(), False)


def test_beside_proven_hosts_one_that_is_ready_is_not_proven(tmp_path):
    add_host(fill(tmp_path, "a", "b", asked={"a": "validate", "b": "preflight"}), "a")
    add_host(tmp_path, "b", plan=None, verdict=None)
    results = write_reports(tmp_path)
    assert (results.state, results.passed) == ("not proven", False)
    assert cases(tmp_path) == [[], [("error", "READY")]]
