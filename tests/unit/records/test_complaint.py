"""A complaint keeps what is wrong and the fix apart; only people get both as one text."""

import pytest

from rekindle.records import Complaint, HostRecord, RecordError, read
from rekindle.records.complaint import MissingError


def test_as_text_it_says_both():
    complaint = Complaint("No GPU.", "add one.")
    assert (complaint.says, complaint.fix) == ("No GPU.", "add one.")
    assert str(complaint) == "No GPU. Fix: add one."


def test_without_a_fix_it_says_what_is_wrong_alone():
    assert str(Complaint("No GPU.")) == "No GPU."


def test_a_record_that_is_not_there_is_told_from_a_broken_one(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "host.json", tmp_path / "file" / "host.json"):
        with pytest.raises(MissingError, match=r"host\.json does not exist\. Fix: run the stage"):
            read(path, HostRecord)


def test_what_a_file_says_is_no_fix(tmp_path):
    (tmp_path / "host.json").write_text('{"x Fix: y": 1}')
    with pytest.raises(RecordError) as caught:
        read(tmp_path / "host.json", HostRecord)
    assert "x Fix: y" in caught.value.says
    assert caught.value.fix == "have its stage write it again."
