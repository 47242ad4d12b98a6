# SPDX-License-Identifier: Apache-2.0
"""The other jobs on CPU, as site.yml runs them, and TensorFlow over two nodes without NVFlare."""

import json
import os
import shutil
import subprocess

import pytest
from msgspec.structs import replace
from runners.commands import capture_command
from runners.plays import REPOSITORY, SMALLEST, checkout, play
from stand_ins.slurm import stand_in

from rekindle.judge.checks.nodes import nodes_keep_pace
from rekindle.judge.opener import open_run
from rekindle.records import EnvRecord, RunSpec, VerdictRecord, read_record
from rekindle.records.events import DeviceEvent, RoundEvent, TaskEvent
from rekindle.records.evidence import read_lines

JOBS = ["lightning_ddp", "tf_mirrored", "llm_sft", "llm_peft", "tensor_stream"]
SCORED = ["lightning_ddp", "tf_mirrored"]
SMALLER = {"llm_sft": {"sites": 1}, "llm_peft": {"sites": 1}, "tensor_stream": SMALLEST}
"""Here, where a second site shows nothing more, nor do tensors of a second rank, which are not streamed."""
TRAINER = REPOSITORY / "flare_jobs/tf_mirrored/client.py"


@pytest.fixture(scope="module")
def jobs(local, tmp_path_factory):
    """Return a run of site.yml with every job but pt_ddp."""
    repository = checkout(tmp_path_factory.mktemp("checkout"), **SMALLER)
    inventory = tmp_path_factory.mktemp("jobs") / "hosts.yml"
    inventory.write_text(local.read_text() + f"      rekindle_jobs: [{', '.join(JOBS)}]\n")
    results = tmp_path_factory.mktemp("results") / "jobs"
    return play("site.yml", inventory, results, timeout=2400, cwd=repository)


def verdict(jobs, job):
    """Return a job's verdict."""
    return read_record(jobs.results / "local" / job / "verdict.json", VerdictRecord)


@pytest.mark.parametrize("job", JOBS)
def test_it_passes_on_cpu(jobs, job):
    answer = verdict(jobs, job)
    assert (answer.verdict, answer.cause) == ("PASS", None)
    assert job not in SCORED or answer.final_metrics["accuracy"] >= 0.95
    sites = {"site-1"} if job in SMALLER else {"site-1", "site-2"}
    assert set(answer.host_memory_mib) == {"server", *sites}
    assert jobs.status == 0, jobs.output


def test_a_site_of_lightning_counts_by_its_steps_of_the_round_and_not_of_all_so_far(jobs):
    lines = read_lines(jobs.results / "local/lightning_ddp")
    weights = {line.event.weight for line in lines if isinstance(line.event, TaskEvent)}
    assert len(weights) == 1, weights


ON_LOOPBACK = """
import json, os, runpy, sys
config = json.loads(os.environ["TF_CONFIG"])
ports = [int(worker.rpartition(":")[2]) + node for node, worker in enumerate(config["cluster"]["worker"])]
config["cluster"]["worker"] = [f"127.0.0.1:{port}" for port in ports]
os.environ["TF_CONFIG"] = json.dumps(config)
del sys.argv[0]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs a trainer whose nodes are all this machine, with a port of its own for each."""


def python_of(jobs, framework):
    """Return the interpreter of an environment that was built."""
    environments = read_record(jobs.results / "local/env.json", EnvRecord).environments
    return next(environment.python for environment in environments if environment.framework == framework)


@pytest.fixture(scope="module")
def over_nodes(jobs, tmp_path_factory):
    """Return what runs a trainer as a site on two nodes, and returns the run's folder."""

    def run(trainer, rounds):
        folder = tmp_path_factory.mktemp("nodes")
        (folder / "evidence").mkdir()
        (folder / "on_loopback.py").write_text(ON_LOOPBACK)
        launch = ["-m", "rekindle.slurm.launch", "--replicas", "--site=0", "--ranks=2"]
        options = ["--sites", "site-1", "site-2", "--replicas=2", "--local_epoch=1"]
        environ = {
            **stand_in(folder / "slurm", "n10", ["n9", "n10"]),
            "PYTHONPATH": str(REPOSITORY / "src"),
            "CUDA_VISIBLE_DEVICES": "",
            "REKINDLE_SITE": "site-1",
            "REKINDLE_ROUNDS": str(rounds),
            "REKINDLE_EVIDENCE": str(folder / "evidence"),
        }
        python = python_of(jobs, "tensorflow")
        command = [python, *launch, str(folder / "on_loopback.py"), str(trainer), *options]
        subprocess.run(command, env={**os.environ, **environ}, check=True, timeout=300)
        return folder

    return run


@pytest.fixture(scope="module")
def one_round(over_nodes):
    """Return the folder of a run of one round, of one epoch."""
    return over_nodes(TRAINER, 1)


def answer(folder, kind):
    """Return the events of a kind, by rank and in order."""
    return [line.event for line in read_lines(folder) if isinstance(line.event, kind)]


def stragglers(folder):
    """Return what the judge says of the pace of a run's nodes."""
    recorded = read_record(REPOSITORY / "tests/recordings/runs/tf_mirrored-cpu-2/spec.json", RunSpec)
    spec = replace(recorded, sites=recorded.sites[:1], nodes=("n10", "n9"))
    return [result.message for result in nodes_keep_pace(open_run(folder, spec))]


def test_replicas_over_nodes_train_one_model_on_shares_of_the_data(one_round):
    devices = {event.rank: event for event in answer(one_round, DeviceEvent)}
    places = {rank: (event.node, event.device, event.backend) for rank, event in devices.items()}
    assert places == {0: ("n10", "/device:CPU:0", "RING"), 1: ("n9", "/device:CPU:0", "RING")}
    assert devices[0].pid != devices[1].pid
    first, second = answer(one_round, RoundEvent)
    assert (first.model_in, first.model_out) == (second.model_in, second.model_out)
    assert first.model_in != first.model_out
    assert (first.losses, first.samples) == (second.losses, second.samples)
    assert first.samples * 2 == 704  # the site's half of the training images, in whole batches


def test_replicas_over_nodes_record_their_forward_passes_and_none_straggles(one_round):
    assert all(0 < event.forward_s < event.seconds for event in answer(one_round, RoundEvent))
    assert stragglers(one_round) == []


SLOW = """def slowed(x):
    if os.environ["SLURMD_NODENAME"] != "n9":
        return x
    late = tf.numpy_function(lambda value: (time.sleep(0.05), value)[1], [x], x.dtype)
    return tf.ensure_shape(late, x.shape)


def main()"""


def test_a_node_whose_replicas_straggle_is_named(over_nodes, tmp_path):
    trainer = shutil.copytree(TRAINER.parent, tmp_path / "slow") / TRAINER.name
    code = trainer.read_text()
    trainer.write_text(code.replace("def main()", SLOW).replace("model(x, ", "model(slowed(x), "))
    folder = over_nodes(trainer, 2)
    (message,) = stragglers(folder)
    assert message.startswith("n9 straggles: its ranks took ")
    for event in answer(folder, RoundEvent):
        assert (event.forward_s >= 11 * 0.05) == (event.rank == 1)  # of so many steps


TIMED = """
import json, time
import tensorflow as tf
from rekindle.trainer import replicas

tf.config.threading.set_inter_op_parallelism_threads(8)
strategy, _ = replicas.join_replicas(2)

def late(x):
    return tf.numpy_function(lambda value: (time.sleep(1), value)[1], [x], x.dtype, stateful=False)

def replica(x):
    x += tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, x.dtype)
    outputs, took = replicas.time_forward(lambda first, last: {"sum": late(first) + last}, x, late(x))
    return late(outputs["sum"]), took

for replicas.NODES in (1, 2):
    step = tf.function(lambda x: strategy.run(replica, args=(x,))).get_concrete_function(tf.ones([2, 3]))
    began = time.perf_counter()
    sums, took = (strategy.experimental_local_results(of_each) for of_each in step(tf.ones([2, 3])))
    seconds = time.perf_counter() - began
    told = [[float(total[0, 0]) for total in sums], [float(duration) for duration in took], seconds]
    print(json.dumps(told))
"""


def test_each_replicas_forward_pass_is_timed_from_its_inputs_to_its_outputs_over_nodes(jobs):
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "CUDA_VISIBLE_DEVICES": ""}
    command = [python_of(jobs, "tensorflow"), "-c", TIMED]
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, check=True, timeout=300)
    (alone, none, _), (sums, took, seconds) = map(json.loads, done.stdout.splitlines())
    assert alone == sums == [2.0, 4.0]
    assert none == [0.0, 0.0]
    assert all(1 <= duration < 2 for duration in took)
    assert seconds < 2 + sum(took)  # they do not take turns


RATES = """
import json, sys, torch
from client import OverRounds
from transformers import TrainerCallback, TrainingArguments

class Notes(TrainerCallback):
    def on_step_begin(self, args, state, control, optimizer=None, **rest):
        rates.append(round(optimizer.param_groups[0]["lr"], 6))

class Net(torch.nn.Linear):
    def forward(self, x, labels=None):
        return {"loss": super().forward(x).sum()}

rates = []
quiet = {"save_strategy": "no", "report_to": "none", "logging_strategy": "no", "disable_tqdm": True}
how = TrainingArguments(
    output_dir=sys.argv[1], num_train_epochs=1, per_device_train_batch_size=2, learning_rate=6.0,
    lr_scheduler_type="linear", use_cpu=True, **quiet,
)
data = [{"x": torch.ones(2)}] * 4
trainer = OverRounds(model=Net(2, 1), args=how, train_dataset=data, callbacks=[Notes()])
for trainer.round in range(3):
    trainer.optimizer = trainer.lr_scheduler = None
    trainer.rounds = 3
    trainer.train()
print(json.dumps(rates))
"""


def test_a_schedule_of_the_learning_rate_goes_over_all_rounds(jobs, tmp_path):
    code = f"{REPOSITORY}/src:{REPOSITORY}/flare_jobs/llm_sft"
    environ = {**os.environ, "PYTHONPATH": code, "CUDA_VISIBLE_DEVICES": ""}
    command = [python_of(jobs, "transformers"), "-c", RATES, str(tmp_path)]
    done = capture_command(command, env=environ, check=True, timeout=300)
    assert json.loads(done.stdout.splitlines()[-1]) == [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
