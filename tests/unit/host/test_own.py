# SPDX-License-Identifier: Apache-2.0
"""Our own files: complete or not there, for their owner alone."""

import os

import pytest

from rekindle.host import storage


def test_what_is_written_is_complete_or_not_there_and_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        storage.write_file(tmp_path / "new" / "folder" / "file", b"1")
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in sorted((tmp_path / "new").rglob("*"))]
    assert [*modes, (tmp_path / "new").stat().st_mode & 0o777] == [0o700, 0o600, 0o700]


def test_a_link_is_replaced_at_once_and_a_folder_never(tmp_path):
    for target in ("first", tmp_path / "second"):
        storage.link_path(tmp_path / "new" / "latest", target)
    assert (tmp_path / "new" / "latest").readlink() == tmp_path / "second"
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        storage.link_path(tmp_path / "folder", "first")
    assert {path.name for path in tmp_path.iterdir()} == {"new", "folder"}
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["latest"]
