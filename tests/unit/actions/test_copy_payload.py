# SPDX-License-Identifier: Apache-2.0
"""The payload's way to a host: one file, a record of where it lies, and a word on what stays behind."""

import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleActionFail
from msgspec.structs import replace
from runners.plays import REPOSITORY
from samples import hosts as solver_hosts

from rekindle.records import PayloadRecord, PlanRecord, format_time, read_record, write_record


@pytest.fixture
def bring(load, shell, tmp_path, monkeypatch):
    """Bring a repository's one job with a copy that results in ``copied``; returns also what it was given."""
    action, warned, given, home = load("copy_payload"), [], [], tmp_path / "h"
    home.mkdir()
    write_record(
        home / "plan.json",
        PlanRecord(host="h", made=format_time(), nvflare="2.7.3", environments=()),
    )
    write_record(home / "host.json", replace(solver_hosts.host(), host="h"))
    (tmp_path / "jobs" / "toy").mkdir(parents=True)
    (tmp_path / "jobs" / "toy" / "job.py").touch()
    monkeypatch.setattr(action.module, "JOBS", tmp_path / "jobs")
    monkeypatch.setattr(action.module, "Display", lambda: SimpleNamespace(warning=warned.append))

    def run(copied, left=(), there="", **more):
        def copy(self, tmp, task_vars):
            given.append(self._task.args)
            return copied

        monkeypatch.setattr(action.module.Copy, "run", copy)
        monkeypatch.setattr(action.module, "list_left_behind", lambda jobs: list(left))
        args = {"root": "/r", "results": str(tmp_path), "home": str(home), "checkout": "", "wheelhouse": ""}
        args |= more
        execute = shell if there is None else lambda command: {"stdout": there}
        return action.run(args, host="h", _low_level_execute_command=execute), given, warned

    return run


def test_it_is_copied_for_its_owner_alone_and_written_down(bring, tmp_path):
    result, ((given),), warned = bring({"changed": True})
    source = Path(given.pop("src"))
    assert given == {"dest": "/r/jobs/", "mode": "0600", "directory_mode": "0700"}
    assert source.parent == tmp_path / "payload"
    assert source.is_file()
    written = read_record(tmp_path / "h" / "payload.json", PayloadRecord)
    assert written == PayloadRecord(host="h", path=f"/r/jobs/{source.name}")
    assert (result, warned) == ({"changed": True}, [])


def _unreadable(path):
    path.chmod(0o644)


def _altered(path):
    path.write_bytes(path.read_bytes() + b"x")


def _linked(path):
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


@pytest.mark.parametrize(
    ("spoil", "copies"),
    [(lambda path: None, 0), (Path.unlink, 1), (_unreadable, 1), (_altered, 1), (_linked, 1)],
)
def test_what_is_there_as_it_is_here_is_not_copied(bring, tmp_path, spoil, copies):
    given = bring({})[1]
    there = tmp_path / "r" / "jobs" / Path(given.pop()["src"]).name
    there.parent.mkdir(parents=True)
    shutil.copy(tmp_path / "payload" / there.name, there)
    there.chmod(0o600)
    spoil(there)
    result, given, _ = bring({"changed": True}, there=None, root=str(tmp_path / "r"))
    assert (result, len(given)) == ({"changed": copies == 1}, copies)
    assert read_record(tmp_path / "h" / "payload.json", PayloadRecord).path == str(there)


def test_a_copy_that_failed_is_not_written_down(bring, tmp_path):
    assert bring({"failed": True, "msg": "No room."})[0] == {"failed": True, "msg": "No room."}
    assert not (tmp_path / "h" / "payload.json").exists()


def test_files_that_somebody_may_miss_are_named(bring):
    (said,) = bring({}, [f"toy/{n}" for n in range(9)])[2]
    assert said.startswith("Not tracked by git and not sent to hosts: flare_jobs/toy/0, ")
    assert "flare_jobs/toy/4." in said
    assert "toy/5" not in said


def test_the_folder_of_a_users_own_job_travels_beside_ours_as_it_is(bring, tmp_path):
    mine = tmp_path / "elsewhere"
    shutil.copytree(REPOSITORY / "tests" / "lookalikes" / "own" / "fitted_line", mine)
    plan = read_record(tmp_path / "h" / "plan.json", PlanRecord)
    own = {"line": str(mine / "job.yml")}
    write_record(tmp_path / "h" / "plan.json", replace(plan, jobs=("line",), own=own))
    _, (given,), warned = bring({}, ["notes.txt"])
    with zipfile.ZipFile(given["src"]) as archive:
        names = {name for name in archive.namelist() if name.startswith("flare_jobs/")}
        assert archive.read("flare_jobs/line/client.py") == (mine / "client.py").read_bytes()
    own_names = {f"flare_jobs/line/{name}" for name in ("client.py", "job.py", "job.yml")}
    assert names == {"flare_jobs/toy/job.py", *own_names}
    assert warned[-1].startswith(f"Not tracked by git and not sent to hosts: {mine}/notes.txt. Fix: ")


def test_data_that_a_job_has_here_travel_with_it(bring, tmp_path):
    mine = tmp_path / "line"
    shutil.copytree(REPOSITORY / "tests" / "honest" / "jobs" / "data_of_sites", mine)
    plan = read_record(tmp_path / "h" / "plan.json", PlanRecord)
    write_record(tmp_path / "h" / "plan.json", replace(plan, own={"line": str(mine)}))
    _, (given,), _ = bring({})
    with zipfile.ZipFile(given["src"]) as archive:
        names = {name for name in archive.namelist() if name.startswith("flare_jobs/data_of_sites.data/")}
    assert names == {f"flare_jobs/data_of_sites.data/site-{site}/points.csv" for site in (1, 2)}


def test_an_argument_that_it_does_not_have_is_refused(bring):
    with pytest.raises(AnsibleActionFail, match="mode"):
        bring({}, mode="0777")
