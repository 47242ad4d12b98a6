# SPDX-License-Identifier: Apache-2.0
"""Every source file says under which licence it is."""

from runners.commands import capture_command
from runners.plays import REPOSITORY

LINE = "SPDX-License-Identifier: Apache-2.0"
SOURCES = {".py", ".sh", ".js", ".c"}
OF_OTHERS = ("tests/recordings/", "tests/lookalikes/", "tests/honest/jobs/")
"""Stand-ins for what users write, and what runs left."""


def unnamed(paths):
    """Return which of the source files lack the line at their beginning."""
    return [path for path in paths if LINE not in path.read_text()[:200]]


def test_every_source_file_names_its_licence():
    names = capture_command(["git", "ls-files", "--cached"], cwd=REPOSITORY, check=True).stdout.split()
    own = [REPOSITORY / name for name in names if not name.startswith(OF_OTHERS)]
    sources = [path for path in own if path.suffix in SOURCES and path.is_file()]
    assert len(sources) > 500
    assert unnamed(sources) == []


def test_a_file_without_the_line_is_named(tmp_path):
    (tmp_path / "without.py").write_text('"""A module."""\n')
    (tmp_path / "with.py").write_text(f'# {LINE}\n"""A module."""\n')
    assert unnamed(sorted(tmp_path.iterdir())) == [tmp_path / "without.py"]
