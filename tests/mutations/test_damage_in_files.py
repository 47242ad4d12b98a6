# SPDX-License-Identifier: Apache-2.0
"""Files that are missing, cut off or full of junk are never a PASS, and never break the judge."""

import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from mutation_runs import RECORDED

from rekindle.judge import judge_run
from rekindle.records import RecordError

RUNS = sorted((RECORDED / "runs").iterdir())
WORKSPACES = [*RUNS, *(RECORDED / "foreign" / name for name in ("poc", "simulator", "simulator-crash"))]
VERDICT = "verdict.json"
"""A verdict is no part of what is judged."""
JUNK = (b"\xff\xfe\x00", b"[" * 5000, b'{"event": "round", "time": 1e400}\n')


@pytest.fixture(params=WORKSPACES, ids=lambda run: run.name)
def copy(request, tmp_path):
    """Return a copy of a recorded run."""
    return Path(shutil.copytree(request.param, tmp_path / request.param.name))


@pytest.fixture
def files(copy, share):
    """Yield files of the copy with their content, and make each what it was."""

    def each():
        for path in share(copy.name, (path for path in copy.rglob("*") if path.is_file())):
            content = path.read_bytes()
            yield path, content
            path.write_bytes(content)

    return each()


def test_judging_twice_changes_nothing(copy):
    before = _content(copy)
    assert judge_run(copy) == judge_run(copy)
    assert _content(copy) == before


def _content(folder):
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    }


def _is_elsewhere(path):
    """Whether other files say the same: all have a meta.json, and NVFlare has a site's settings."""
    return path.name == "meta.json" or path.match("evidence/site-*.server.jsonl")


@pytest.mark.parametrize("copy", RUNS, ids=lambda run: run.name, indirect=True)
def test_a_run_that_lacks_a_file_is_no_pass(copy):
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        path.unlink()
        assert (_verdict(copy) == "PASS") <= (path.name == VERDICT or _is_elsewhere(path)), path
        path.write_bytes(content)


def test_a_run_with_a_cut_file_is_no_pass(copy, files):
    """But for samples and job.log, of which the first part may show all that is asked."""
    complete = _verdict(copy)
    for path, content in files:
        needless = complete == "PASS" and (path.name == VERDICT or not content)
        for share in (0, 0.1, 0.5, 0.7, 0.85):
            path.write_bytes(content[: int(len(content) * share)])
            verdict = _verdict(copy)
            shown = _is_elsewhere(path) or (share and path.name in {"samples.jsonl", "job.log"})
            assert (verdict == "PASS") is needless or shown, (path, share)


def test_junk_in_a_file_breaks_nothing(copy, files):
    for path, content in files:
        for junk in JUNK:
            for at in (0, len(content) // 2, len(content)):
                path.write_bytes(content[:at] + junk + content[at:])
                _verdict(copy)


def _verdict(folder):
    """Return the judge's verdict; only a RecordError may come in its place."""
    try:
        return judge_run(folder).verdict
    except RecordError:
        return "refused"
