# SPDX-License-Identifier: Apache-2.0
"""A complaint keeps what is wrong and the fix apart; only people get both as one text."""

import pytest

from rekindle.records import Complaint, HostRecord, RecordError, read_record
from rekindle.records.complaint import MissingError


def test_its_text_has_both():
    complaint = Complaint("No GPU.", "add one.")
    assert (complaint.message, complaint.fix) == ("No GPU.", "add one.")
    assert str(complaint) == "No GPU. Fix: add one."


def test_without_a_fix_its_text_is_the_message():
    assert str(Complaint("No GPU.")) == "No GPU."


def test_a_missing_record_is_not_a_broken_one(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "host.json", tmp_path / "file" / "host.json"):
        with pytest.raises(MissingError, match=r"host\.json does not exist\. Fix: run the stage"):
            read_record(path, HostRecord)


def test_a_files_text_is_no_fix(tmp_path):
    (tmp_path / "host.json").write_text('{"x Fix: y": 1}')
    with pytest.raises(RecordError) as caught:
        read_record(tmp_path / "host.json", HostRecord)
    assert "x Fix: y" in caught.value.message
    assert caught.value.fix == "have its stage write it again, or name another file."
