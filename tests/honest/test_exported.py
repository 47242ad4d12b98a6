# SPDX-License-Identifier: Apache-2.0
"""What a job exports in a run is the user's own: nothing of ours is in it, and it runs where we are not."""

import os

from runners.commands import capture_command
from runners.own_jobs import Edit, OwnJob

from rekindle.records import RunSpec, read_record

EXPORTS = OwnJob(
    "exports", "digits", (Edit("job.py", "recipe.execute", 'recipe.export(job_dir="exported")'),)
)


def test_an_exported_job_has_nothing_of_ours_and_runs_in_a_bare_environment(host_records, tmp_path):
    verdict = EXPORTS.run(host_records, tmp_path)
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
    run = tmp_path / "run"
    exported, bare = run / "job/exported/digits", tmp_path / "bare"
    contents = [path.read_bytes().lower() for path in exported.rglob("*") if path.is_file()]
    assert len(contents) >= 4
    assert not any(b"rekindle" in content for content in contents)
    python = read_record(run / "spec.json", RunSpec).python
    environ = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    options = [str(exported), "-w", str(bare), "-n", "2", "-t", "2"]
    done = capture_command(
        [python, "-m", "nvflare.cli", "simulator", *options],
        env={**environ, "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert list(bare.rglob("FL_global_model.pt")), done.stdout
    assert "No module named" not in done.stdout + done.stderr
