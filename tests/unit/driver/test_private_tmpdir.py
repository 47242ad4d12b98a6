# SPDX-License-Identifier: Apache-2.0
"""A run's TMPDIR is its user's alone, whoever else may write beside it."""

import os

import pytest

from rekindle.driver.places import PlaceError
from rekindle.driver.supervisor import _make_private


def test_a_folder_is_made_or_taken_that_is_this_users_alone(tmp_path):
    for _ in range(2):
        _make_private(tmp_path / "a/tmp")
    assert (tmp_path / "a/tmp").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("by", ["a link", "a mode", "an owner"])
def test_what_another_may_have_made_is_refused(tmp_path, by):
    folder = tmp_path / "tmp"
    if by == "a link":
        (tmp_path / "other").mkdir()
        folder.symlink_to(tmp_path / "other")
    else:
        folder.mkdir()
        folder.chmod(0o777 if by == "a mode" else 0o700)
    if by == "an owner":
        if os.geteuid() != 0:
            pytest.skip("gives a folder away, which root can alone")
        os.chown(folder, 4711, 4711)
    with pytest.raises(PlaceError, match="is another user's, or others may write to it"):
        _make_private(folder)
