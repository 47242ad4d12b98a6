"""A host that was reached and then vanished is LOST, in every report, and what it had proven stays proven."""

import json
import re
import xml.etree.ElementTree as ET

import msgspec
import pytest
from report_folders import FAIL, LEFT, PASS, PLAN, add_host, fill

from rekindle.report import write_reports
from rekindle.report.table import table
from rekindle.results.gather import gather

TWO = msgspec.structs.replace(PLAN, jobs=("pt_ddp", "tf_mirrored"))
PROOF = "lost during validate (proven, with its files at home: {}; not proven: {})"


def lost(folder, **records):
    """Return job, kind and cause of each row of a host that became unreachable at Validate."""
    add_host(fill(folder, "gpu-1"), "gpu-1", left=LEFT, state="unreachable", **records)
    assert not gather(folder).passed
    return [(row.job, row.kind, row.cause) for row in gather(folder).rows]


def test_the_job_without_a_verdict_is_lost_and_the_finished_one_keeps_its_own(tmp_path):
    first, second = lost(tmp_path, plan=TWO)
    assert first == ("pt_ddp", "PASS", None)
    assert second[:2] == ("tf_mirrored", "LOST")
    assert second[2] == f"The host was {PROOF.format('pt_ddp', 'tf_mirrored')}. {LEFT}"


def test_a_job_that_failed_is_not_proven(tmp_path):
    first, second = lost(tmp_path, plan=TWO, verdict=FAIL)
    assert first[:2] == ("pt_ddp", "FAIL")
    assert PROOF.format("nothing", "pt_ddp, tf_mirrored") in str(second[2])


@pytest.mark.parametrize("verdict", [PASS, FAIL])
def test_a_host_whose_verdicts_all_came_home_is_lost_itself(tmp_path, verdict):
    assert [row[:2] for row in lost(tmp_path, verdict=verdict)][1:] == [(None, "LOST")]


def test_before_there_is_a_plan_the_host_is_lost(tmp_path):
    ((job, kind, cause),) = lost(tmp_path, plan=None, verdict=None)
    assert (job, kind) == (None, "LOST")
    assert PROOF.format("nothing", "no job") in str(cause)


def test_a_job_that_the_lease_had_no_time_for_stays_skipped(tmp_path):
    skipped = msgspec.structs.replace(FAIL, verdict="SKIPPED", cause="It takes 60 s and 5 s are left.")
    assert [row[:2] for row in lost(tmp_path, plan=TWO, verdict=skipped)] == [
        ("pt_ddp", "SKIPPED"),
        ("tf_mirrored", "LOST"),
    ]


def test_a_host_that_was_never_reached_is_skipped(tmp_path):
    assert lost(tmp_path, host=None, plan=None, verdict=None) == [(None, "SKIPPED", LEFT)]


def test_a_host_that_failed_is_not_lost(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", plan=TWO, left=LEFT, state="failed")
    assert [row.kind for row in gather(tmp_path).rows] == ["PASS", "SKIPPED"]


def test_every_report_says_lost(tmp_path):
    lost(tmp_path, plan=TWO)
    results = write_reports(tmp_path)
    said = PROOF.format("pt_ddp", "tf_mirrored")
    assert re.search(rf"tf_mirrored +LOST +The host was {re.escape(said)}", table(results, 400, colour=False))
    assert "\x1b[31mLOST" in table(results, 250, colour=True)
    page = (tmp_path / "report.html").read_text()
    assert '<td data-name="verdict" class="word LOST">LOST</td>' in page
    assert f"The host was {said}" in page
    row = json.loads((tmp_path / "results.json").read_text())["rows"][1]
    assert (row["verdict"], said in row["cause"]) == ("LOST", True)
    _, case = ET.fromstring((tmp_path / "junit.xml").read_bytes()).iter("testcase")
    (error,) = case
    assert (error.tag, error.get("type"), said in str(error.get("message"))) == ("error", "LOST", True)
