"""The judge is a pure function of the files, and files that are damaged never make it say PASS."""

import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from rekindle.judge import judge
from rekindle.records import RecordError

RECORDINGS = Path(__file__).parents[2] / "recordings"
RUNS = sorted((RECORDINGS / "runs").iterdir())
VERDICT = "verdict.json"
"""A verdict is no part of what is judged."""
WORKSPACES = [*RUNS, *(RECORDINGS / "foreign" / name for name in ("poc", "simulator", "simulator-crash"))]


def _content(folder):
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("run", WORKSPACES, ids=lambda run: run.name)
def test_judging_changes_nothing_and_says_the_same_twice(tmp_path, run):
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    before = _content(copy)
    assert judge(copy) == judge(copy)
    assert _content(copy) == before


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_run_that_lacks_a_file_is_no_pass(tmp_path, run):
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        path.unlink()
        assert (_verdict(copy) == "PASS") is (path.name == VERDICT), path
        path.write_bytes(content)


def _verdict(folder):
    """Return the judge's verdict; only a RecordError may come in its place."""
    try:
        return judge(folder).verdict
    except RecordError:
        return "refused"
