# SPDX-License-Identifier: Apache-2.0
"""``rekindle job``: a user's own job as Rekindle understands it."""

import shutil

from runners.plays import REPOSITORY

from rekindle.jobs import load_job
from rekindle.records import dump_builtins

JOBS = REPOSITORY / "flare_jobs"
LINE = REPOSITORY / "tests" / "lookalikes" / "own" / "fitted_line"


def test_it_prints_a_job_yml_that_is_the_same_job(golden, call, ask, tmp_path):
    folder = shutil.copytree(LINE, tmp_path / "line")
    (folder / "job.yml").unlink()
    status, out, _ = call("job", folder)
    golden(out)
    assert status == 0
    before = load_job(JOBS, str(folder / "job.py"))
    assert ask("job", folder)[1]["job"] == dump_builtins(before)
    assert call("job", folder, "--write")[0] == 0
    assert (folder / "job.yml").read_text() == out
    assert load_job(JOBS, f"{folder}/") == before
    assert call("job", folder)[1].count("# job.yml") == out.count("# ")


def test_a_job_yml_is_not_written_over(call, tmp_path):
    folder = shutil.copytree(LINE, tmp_path / "line")
    status, _, err = call("job", folder, "--write")
    assert status == 2
    assert err.endswith("job.yml. Fix: remove it first, or correct it by hand.\n")


def test_a_job_yml_is_not_written_through_a_link(call, tmp_path):
    folder = shutil.copytree(LINE, tmp_path / "line")
    (folder / "job.yml").unlink()
    (folder / "job.yml").symlink_to(tmp_path / "elsewhere")
    assert call("job", folder / "job.py", "--write")[0] == 2
    assert not (tmp_path / "elsewhere").exists()
