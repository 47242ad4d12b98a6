# SPDX-License-Identifier: Apache-2.0
"""The task that ends a playbook: it fails unless everything passed, and the reports are there in any case."""

import pytest
from samples.folders import add_host, fill, three_hosts

REPORTS = ["junit.xml", "metrics.prom", "report.html", "results.json"]


@pytest.fixture
def run(load, tmp_path):
    """Write the reports; returns the task's result and which reports are there."""

    def call():
        result = load("write_reports").run({"folder": str(tmp_path)})
        return result, sorted(path.name for path in tmp_path.glob("*.*") if path.name in REPORTS)

    return call


def test_it_fails_unless_everything_passed_and_the_reports_are_there(run, tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    assert run() == ({}, REPORTS)
    three_hosts(tmp_path)
    said = "Not every required job passed: see the answer below."
    both = {"message": said, "fix": ""}
    assert run() == ({"failed": True, "msg": said, "complaint": both}, REPORTS)
    fill(tmp_path, "gpu-9")  # on which nothing ran
    assert run()[0]["failed"]


def test_what_cannot_be_read_or_written_fails_with_its_reason(golden, run, tmp_path):
    nothing, reports = run()
    assert reports == []
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    (tmp_path / "junit.xml").mkdir()
    golden(nothing["msg"], run()[0]["msg"])
