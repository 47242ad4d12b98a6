"""A host that was given back is RETIRED in the reports, with what is kept of it; its verdicts stay."""

import xml.etree.ElementTree as ET

import pytest
from report_folders import FAIL, LEFT, NOW, add_host, fill

from rekindle.records import RetiredRecord, write
from rekindle.report import write_reports
from rekindle.results.gather import gather

KEPT = RetiredRecord(
    host="gpu-1",
    retired=NOW,
    environments=("torch.txt",),
    runs={"pt_ddp-0123456789ab": "PASS", "llm_sft-0123456789ab": ""},
    files=7,
    left={"runs/llm_sft-0123456789ab/model.pt": 498_000_000},
)


def retired(folder, record=KEPT):
    """Return the row of the host as a whole."""
    write(folder / "gpu-1" / "retired.json", record)
    (row,) = [row for row in gather(folder).rows if row.job is None]
    return row


def test_it_says_what_is_kept_and_what_is_not(tmp_path):
    row = retired(fill(tmp_path, "gpu-1"))
    assert (row.kind, row.required) == ("RETIRED", False)
    assert row.cause == (
        f"Nothing of Rekindle is on the host since {NOW}. Kept in gpu-1/retired: 7 files of logs and of "
        "pt_ddp-0123456789ab PASS, llm_sft-0123456789ab without a verdict; the capsule of torch.txt; "
        "not kept, with 498 MB: runs/llm_sft-0123456789ab/model.pt."
    )


def test_a_host_with_nothing_on_it_says_so(tmp_path):
    row = retired(fill(tmp_path, "gpu-1"), RetiredRecord(host="gpu-1", retired=NOW))
    assert (
        row.cause == f"Nothing of Rekindle is on the host since {NOW}, and nothing of it was there to keep."
    )


@pytest.mark.parametrize("verdict", [None, FAIL])
def test_it_proves_nothing(tmp_path, verdict):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", host=None, plan=None, verdict=verdict)
    retired(tmp_path)
    assert not gather(tmp_path).passed


def test_what_had_passed_has_passed(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1")
    retired(tmp_path)
    assert [row.kind for row in gather(tmp_path).rows] == ["PASS", "RETIRED"]
    assert gather(tmp_path).passed


def test_a_removal_that_is_not_complete_is_no_retirement(tmp_path):
    add_host(fill(tmp_path, "gpu-1"), "gpu-1", host=None, plan=None, verdict=None, left=LEFT)
    row = retired(tmp_path, RetiredRecord(host="gpu-1", files=7))
    assert (row.kind, row.cause) == ("SKIPPED", LEFT)


def test_in_the_reports_it_is_neither_green_nor_red(tmp_path):
    retired(fill(tmp_path, "gpu-1"))
    write_reports(tmp_path)
    (case,) = ET.fromstring((tmp_path / "junit.xml").read_bytes()).iter("testcase")
    assert [(child.tag, child.get("type")) for child in case] == [("skipped", "RETIRED")]
    page = (tmp_path / "report.html").read_text()
    assert 'class="word RETIRED">RETIRED</td>' in page
    assert 'Rekindle: <span class="PASS">retired</span>' in page
