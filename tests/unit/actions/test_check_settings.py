"""A host's settings: what cannot work is refused, and only then is its lease written."""

import pytest

from rekindle.records import LeaseRecord, read


@pytest.fixture
def check(load, tmp_path):
    def run(**more):
        args = {
            "root": "~/rekindle",
            "tmpdir": "~/rekindle/tmp",
            "here": {},
            "jobs": ["pt_ddp"],
            "job_arguments": {},
            "lease_ends": "",
            "budget": "",
            "results": str(tmp_path),
            "home": str(tmp_path / "h"),
            **more,
        }
        return load("check_settings").run(args, host="h")

    return run


def test_settings_that_can_work_leave_a_lease(check, tmp_path):
    assert check(budget="45m") == {"failed": False, "msg": "All settings are known."}
    lease = read(tmp_path / "h" / "lease.json", LeaseRecord)
    assert lease.host == "h"
    assert lease.started < lease.ends


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"root": "rekindle"}, "rekindle_root is 'rekindle', a relative path. Fix: "),
        ({"tmpdir": "/a b"}, "rekindle_tmpdir is '/a b', and no path may have white space in it. Fix: "),
        (
            {"here": {"rekindle_wheelhouse": "$HOME"}},
            "rekindle_wheelhouse is '$HOME', which sftp ",
        ),
        ({"here": {"rekindle_results": ""}}, "rekindle_results is not set, and no callback "),
        (
            {"job_arguments": {"llm_sft": {}}},
            "rekindle_job_arguments has options for llm_sft, which is ",
        ),
        ({"lease_ends": "soon"}, "lease_ends 'soon' is not a time. Fix: "),
        ({"budget": "soon"}, "budget 'soon' is not a length of time. Fix: "),
    ],
)
def test_what_cannot_work_is_refused_and_no_lease_is_written(check, tmp_path, more, said):
    result = check(**more)
    assert result["failed"] is True
    assert said in result["msg"]
    assert not (tmp_path / "h").exists()


def test_all_that_is_wrong_is_said_at_once(check):
    said = check(budget="soon", here={"a": "$"}, job_arguments={"x": {}, "y": {}})["msg"]
    assert len(said.splitlines()) == 4


def test_a_broken_run_json_fails(check, tmp_path):
    (tmp_path / "run.json").write_text("{")
    assert "run.json is not a valid PlaybookRecord: " in check()["msg"]
