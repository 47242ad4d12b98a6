"""An example runs as it stands: mends that fit, its own commands in turn, the first status not 0."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
MEND = {"file": "job.py", "before": "CPU", "after": "cpu", "because": "torch says it so", "fault": "example"}


def run(folder, example, *options, **environ):
    """Run the example in ``folder``; return the finished process."""
    (folder / "spec.json").write_text(json.dumps({"job": {"sites": 2, "rounds": 3, "example": example}}))
    return subprocess.run(
        [sys.executable, "-m", "rekindle.trainer.example", str(folder / "spec.json"), *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "REKINDLE_DATA": str(folder / "data"), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_its_command_gets_the_jobs_numbers_and_then_its_arguments(tmp_path):
    (tmp_path / "job.py").write_text("import sys; print(sys.argv[1:])")
    done = run(tmp_path, {"command": ["job.py", "-n", "{sites}", "{data}/x", "--r={rounds}"]}, "--more=1")
    assert done.stdout.strip() == str(["-n", "2", f"{tmp_path}/data/x", "--r=3", "--more=1"])


def test_what_comes_before_runs_first_and_a_failure_ends_it(tmp_path):
    (tmp_path / "one.py").write_text("print('one')")
    (tmp_path / "two.py").write_text("import sys; sys.exit(7)")
    (tmp_path / "job.py").write_text("print('job')")
    example = {"before": [["one.py"], ["two.py"]], "command": ["job.py"]}
    done = run(tmp_path, example, PYTHONUNBUFFERED="1")
    assert (done.returncode, done.stdout.split()) == (7, ["one"])


def test_a_command_that_a_signal_ended_is_no_success(tmp_path):
    (tmp_path / "job.py").write_text("import os; os.kill(os.getpid(), 9)")
    assert run(tmp_path, {"command": ["job.py"]}).returncode == 137


def test_a_mend_is_laid_over_the_copy(tmp_path):
    (tmp_path / "job.py").write_text("print('CPU')")
    assert run(tmp_path, {"command": ["job.py"], "mends": [MEND]}).stdout.strip() == "cpu"


@pytest.mark.parametrize("text", ["print('gpu')", "print('CPU', 'CPU')"])
def test_a_mend_that_does_not_fit_is_refused(tmp_path, text):
    (tmp_path / "job.py").write_text(text)
    done = run(tmp_path, {"command": ["job.py"], "mends": [MEND]})
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"job.py is not as its mend says: 'CPU' stands there {text.count('CPU')} times. Fix: "
    )
    assert not done.stdout


def test_a_stand_in_that_nobody_makes_is_no_data(tmp_path):
    (tmp_path / "job.py").write_text("print('trained')")
    done = run(tmp_path, {"command": ["job.py"], "data": ["imagenet"]})
    assert done.returncode == 1
    assert "trained" not in done.stdout
