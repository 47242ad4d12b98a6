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


@pytest.mark.parametrize("run", WORKSPACES, ids=lambda run: run.name)
def test_a_run_with_a_cut_file_is_no_pass(tmp_path, run):
    """But for samples and job.log, of which the first part may show all that is asked."""
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    whole = _verdict(copy)
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        if not content:
            continue
        needless = whole == "PASS" and path.name == VERDICT
        for share in (0, 0.1, 0.5, 0.7, 0.85):
            path.write_bytes(content[: int(len(content) * share)])
            said = _verdict(copy)
            shown = share and path.name in {"samples.jsonl", "job.log"}
            assert (said == "PASS") is needless or shown, (path, share)
        path.write_bytes(content)


@pytest.mark.parametrize("run", WORKSPACES, ids=lambda run: run.name)
@pytest.mark.parametrize("junk", [b"\xff\xfe\x00", b"[" * 5000, b'{"event": "round", "time": 1e400}\n'])
def test_junk_in_a_file_breaks_nothing(tmp_path, run, junk):
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        for at in (0, len(content) // 2, len(content)):
            path.write_bytes(content[:at] + junk + content[at:])
            _verdict(copy)
        path.write_bytes(content)


def _verdict(folder):
    """Return the judge's verdict; only a RecordError may come in its place."""
    try:
        return judge(folder).verdict
    except RecordError:
        return "refused"
