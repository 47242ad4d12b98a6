# SPDX-License-Identifier: Apache-2.0
"""An example runs unchanged: mends that fit, its own commands in turn, the first status not 0."""

import json
import os
import sys
from pathlib import Path

import pytest
from runners.commands import capture_command

from rekindle.trainer.data import make_stand_in

SOURCE = Path(__file__).parents[3] / "src"
ON_GPUS = (["GPU-a"], ["GPU-b"])
GPUS = [{"uuid": f"GPU-{letter}", "index": index} for index, letter in enumerate("abcd")]
MEND = {"file": "job.py", "before": "CPU", "after": "cpu", "because": "x", "fault": "example"}


def run(folder, example, *options, gpus=(), **environ):
    """Run the example in ``folder`` with the GPUs of each site, or two ranks a site; return the process."""
    spec = {
        "job": {"sites": 2, "rounds": 3, "example": example},
        "sites": [
            {"name": f"site-{number}", "ranks": 2, "gpus": own}
            for number, own in enumerate(gpus or [[], []], start=1)
        ],
        "gpus": [gpu for gpu in GPUS if any(gpu["uuid"] in own for own in gpus)],
    }
    (folder / "spec.json").write_text(json.dumps(spec))
    return capture_command(
        [sys.executable, "-m", "rekindle.trainer.example", str(folder / "spec.json"), *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **_folders(folder), **environ},
        timeout=60,
    )


def _folders(folder):
    return {"REKINDLE_DATA": str(folder / "data"), "REKINDLE_WORKSPACE": str(folder / "job/workspace")}


def test_its_command_gets_the_jobs_numbers_and_then_its_arguments(tmp_path):
    (tmp_path / "job.py").write_text("import sys; print(sys.argv[1:])")
    done = run(tmp_path, {"command": ["job.py", "-n", "{sites}", "{data}/x", "--r={rounds}"]}, "--more=1")
    assert done.stdout.strip() == str(["-n", "2", f"{tmp_path}/data/x", "--r=3", "--more=1"])


@pytest.mark.parametrize(
    ("gpus", "indexes"),
    [
        ((), "[0,1],[0,1]"),
        ((["GPU-b"], ["GPU-d"]), "[1],[3]"),
        ((["GPU-c", "GPU-a"], ["GPU-b", "GPU-d"]), "[2,0],[1,3]"),
    ],
)
def test_its_command_gets_each_sites_gpus_or_numbers_for_its_ranks(tmp_path, gpus, indexes):
    (tmp_path / "job.py").write_text("import sys; print(sys.argv[1])")
    assert run(tmp_path, {"command": ["job.py", "{gpus}"]}, gpus=gpus).stdout.strip() == indexes


@pytest.mark.parametrize(
    ("gpus", "devices"),
    [((), "[cpu,cpu],[cpu,cpu]"), ((["GPU-b", "GPU-a"], ["GPU-d"]), "[GPU-b,GPU-a],[GPU-d]")],
)
def test_a_job_that_gives_each_rank_its_gpu_gets_the_sites_names_and_uuids(tmp_path, gpus, devices):
    (tmp_path / "job.py").write_text("import sys; print(*sys.argv[1:])")
    done = run(tmp_path, {"command": ["job.py", "{names}", "{devices}"]}, gpus=gpus)
    assert done.stdout.split() == ["site-1,site-2", devices]


def test_links_of_its_simulations_are_gone_after_it(tmp_path):
    (tmp_path / "hook").mkdir()
    (tmp_path / "job/workspace").mkdir(parents=True)
    (tmp_path / "job.py").write_text(
        "from pathlib import Path; from rekindle.trainer import links\n"
        "made = Path('job/workspace/hello'); made.mkdir()\n"
        "links.link_chosen(Path('chosen'), made.absolute()); print(Path('chosen').is_symlink())\n"
    )
    assert run(tmp_path, {"command": ["job.py"]}).stdout.strip() == "True"
    assert not (tmp_path / "chosen").is_symlink()


def test_its_command_gets_free_ports_each_another(tmp_path):
    (tmp_path / "job.py").write_text(
        "import socket, sys\n"
        "ports = [int(port) for word in sys.argv[1:] for port in word.split(',')]\n"
        "held = [socket.create_server(('127.0.0.1', port)) for port in ports]\n"
        "print(len(held))\n"
    )
    done = run(tmp_path, {"command": ["job.py", "{port}", "{port},{port}"]})
    assert done.stdout.strip() == "3", done.stderr


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


@pytest.mark.parametrize(
    ("where", "gpus", "printed"),
    [("anywhere", ON_GPUS, "cpu"), ("cpu", (), "cpu"), ("cpu", ON_GPUS, "CPU")],
)
def test_a_mend_is_applied_to_the_copy_and_one_for_the_cpu_only_without_gpus(tmp_path, where, gpus, printed):
    (tmp_path / "job.py").write_text("print('CPU')")
    example = {"command": ["job.py"], "mends": [{**MEND, "where": where}]}
    assert run(tmp_path, example, gpus=gpus).stdout.strip() == printed


@pytest.mark.parametrize("text", ["print('gpu')", "print('CPU', 'CPU')"])
def test_a_mend_that_does_not_fit_is_refused(tmp_path, text):
    (tmp_path / "job.py").write_text(text)
    done = run(tmp_path, {"command": ["job.py"], "mends": [MEND]})
    assert done.returncode == 1
    message = f"The mend of job.py does not apply: 'CPU' occurs {text.count('CPU')} times in it. Fix: "
    assert done.stderr.startswith(message)
    assert not done.stdout


def test_what_stands_in_for_dolly_has_questions_and_answers_of_each_site(tmp_path):
    make_stand_in("dolly", tmp_path)
    for site in ("site-1", "site-2"):
        for name in ("training", "validation"):
            lines = (tmp_path / "dolly" / site / f"{name}.jsonl").read_text().splitlines()
            assert {frozenset(json.loads(line)) for line in lines} == {frozenset({"input", "output"})}
    assert len({path.read_text() for path in tmp_path.rglob("training.jsonl")}) == 2
