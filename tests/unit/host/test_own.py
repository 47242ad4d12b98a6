"""Our own files: complete or not there, for their owner alone."""

import os

from rekindle.host import own


def test_what_is_written_is_complete_or_not_there_and_for_its_owner_alone(tmp_path):
    before = os.umask(0)
    try:
        own.write(tmp_path / "new" / "folder" / "file", b"1")
    finally:
        os.umask(before)
    modes = [path.stat().st_mode & 0o777 for path in sorted((tmp_path / "new").rglob("*"))]
    assert [*modes, (tmp_path / "new").stat().st_mode & 0o777] == [0o700, 0o600, 0o700]
