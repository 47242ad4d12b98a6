# SPDX-License-Identifier: Apache-2.0
"""Sites from the command line, turns on shared GPUs, and training without NVFlare."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from runners.commands import capture_command

from rekindle.driver.command import make_job_command
from rekindle.records import RunSpec, read_record, write_record
from rekindle.trainer import Sites, make_parser

RUNS = Path(__file__).parents[2] / "recordings" / "runs"
SOURCE = str(Path(__file__).parents[3] / "src")
TURN = """
import json, sys, time
from rekindle.trainer import take_turn
with take_turn():
    began = time.monotonic()
    time.sleep(0.6)
    print(json.dumps([began, time.monotonic()]))
"""


@pytest.fixture(autouse=True)
def evidence(tmp_path, monkeypatch):
    """Send evidence to a folder of the test's."""
    monkeypatch.setenv("REKINDLE_EVIDENCE", str(tmp_path / "evidence"))


def test_each_site_sees_its_own_gpus_alone():
    sites = Sites(["a", "b"], "[0,1],[GPU-c]")
    assert (sites.ranks("a"), sites.ranks("b"), sites.on_gpu) == (2, 1, True)
    assert "CUDA_VISIBLE_DEVICES=0,1 " in sites.torchrun("a")
    assert "CUDA_VISIBLE_DEVICES=GPU-c " in sites.torchrun("b")


@pytest.mark.parametrize("gpu", ["0,[1,2]", "[0], [1,2]"])
def test_a_site_of_one_gpu_needs_no_brackets_as_nvflares_simulator_has_it(gpu):
    sites = Sites(["a", "b"], gpu)
    assert [sites.ranks(site) for site in "ab"] == [1, 2]
    assert "CUDA_VISIBLE_DEVICES=0 " in sites.torchrun("a")


def test_sites_and_sets_that_do_not_go_together_are_refused():
    with pytest.raises(SystemExit, match=r"--gpu \[0\] is for 1 sites and --client_ids names 2\. Fix:"):
        Sites(["a", "b"], "[0]")


@pytest.fixture
def given(tmp_path):
    """Return what runs the command of a spec and returns the options that job.py got of it."""

    def call(spec):
        (tmp_path / "job.py").write_text("import json, sys; print(json.dumps(sys.argv[1:]))")
        write_record(tmp_path / "spec.json", spec)
        words = make_job_command(tmp_path, replace(spec, python=sys.executable))
        environ = {
            "PYTHONPATH": SOURCE,
            "REKINDLE_DATA": str(tmp_path / "data"),
            "REKINDLE_WORKSPACE": str(tmp_path / "w"),
        }
        done = capture_command(words, cwd=tmp_path, env={**os.environ, **environ}, check=True)
        return json.loads(done.stdout)

    return call


@pytest.mark.parametrize("run", ["pt_ddp-cpu-2", "pt_ddp-h100-x2", "llm_peft-cpu-2"])
def test_the_driver_calls_a_job_by_its_own_options(given, run):
    spec = read_record(RUNS / run / "spec.json", RunSpec)
    got = given(spec)
    known, _ = make_parser().parse_known_args(got)
    sites = Sites(known.client_ids, known.gpu)
    assert sites.names == [site.name for site in spec.sites]
    assert [sites.ranks(site.name) for site in spec.sites] == [site.ranks for site in spec.sites]
    assert known.gpu == ",".join(f"[{','.join(site.gpus or ['cpu'] * site.ranks)}]" for site in spec.sites)
    assert known.num_rounds == spec.job.rounds
    if run.startswith("llm_peft"):
        at = got.index("--use_tracking")
        assert got[at + 1 : at + 5] == ["tensorboard", "mlflow", "mlflow_client", "wandb"]


def test_a_true_argument_is_a_flag(given):
    got = given(read_record(RUNS / "tensor_stream-cpu-2" / "spec.json", RunSpec))
    assert got[got.index("--tensor_stream") + 1].startswith("--")


@pytest.mark.parametrize(
    "value", ["two words", "it's", '"', "$(touch x)", "`touch x`", "a;b", "--gpu", "a\nb", "{{ x }}"]
)
def test_a_jobs_argument_reaches_it_as_it_is(given, value):
    spec = read_record(RUNS / "pt_ddp-cpu-2" / "spec.json", RunSpec)
    job = replace(spec.job, arguments={"data_path": value})
    parser = make_parser()
    parser.add_argument("--data_path")
    assert parser.parse_args(given(replace(spec, job=job))).data_path == value


def _turns(tmp_path, **environ):
    command = [sys.executable, "-c", TURN]
    both = [
        subprocess.Popen(command, env={"PYTHONPATH": SOURCE, **environ}, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    (first, second) = sorted(json.loads(process.communicate(timeout=60)[0]) for process in both)
    return first[1] <= second[0]


def test_sites_take_turns_where_the_driver_sets_it(tmp_path):
    assert _turns(tmp_path, REKINDLE_TURN=str(tmp_path / "turn.lock"))


def test_only_rank_0_waits_for_its_turn(tmp_path):
    lock = tmp_path / "turn.lock"
    command = [sys.executable, "-c", TURN]
    environ = {"PYTHONPATH": SOURCE, "REKINDLE_TURN": str(lock)}
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        subprocess.run(command, env={**environ, "RANK": "1"}, check=True, timeout=60)
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run(command, env=environ, check=True, timeout=3)


def test_training_by_itself_goes_through_the_rounds_without_nvflare():
    code = "from rekindle.trainer import follow_rank_zero as f; print(list(f(None)))"
    environ = {"PYTHONPATH": SOURCE, "REKINDLE_ROUNDS": "2"}
    done = capture_command([sys.executable, "-c", code], env=environ, check=True)
    assert done.stdout.strip() == "[(0, None), (1, None)]"
