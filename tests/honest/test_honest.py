# SPDX-License-Identifier: Apache-2.0
"""Honest jobs of users that look odd: each passes."""

import pytest
from habits import HABITS
from runners.kinds import (
    AVERAGE,
    DIFFERENCES,
    EXECUTOR,
    NO_INTEGERS,
    SENT,
    control_variates,
    cross_validated,
    evaluated,
    filtered,
    masked,
    optimizer,
    quantised,
)
from runners.own_jobs import HONEST, JOB_OF_CLASSES, Edit, OwnJob, aggregator, client, own_workflow, swarm

EIGHT = "x, y = (x[:8], y[:8]) if site else (x, y)"
HALF = "params = {n: v.half() if v.is_floating_point() else v for n, v in model.state_dict().items()}"
NAMES = 'job.to(runner, ("clinic-b", "hospital_a", "uni.c")[number - 1])'
OF_EXECUTORS = JOB_OF_CLASSES.format(
    module="fed_avg",
    job="FedAvgJob",
    imports="from trains import Trains",
    arguments=", n_clients=args.sites, num_rounds=args.rounds",
    parts="""
for number in range(args.sites):
    job.to(Trains(), f"site-{number + 1}", tasks=["train"])
""".strip(),
)
OF_WEIGHTS = JOB_OF_CLASSES.format(
    module="base_fed_job",
    job="BaseFedJob",
    imports="""
from nvflare.app_common.aggregators import InTimeAccumulateWeightedAggregator
from nvflare.app_common.shareablegenerators import FullModelShareableGenerator
from nvflare.app_common.workflows.scatter_and_gather import ScatterAndGather
from nvflare.job_config.script_runner import ScriptRunner
""".strip(),
    arguments="",
    parts="""
shares = {"site-1": 1.0, "site-2": 3.0}
mean = InTimeAccumulateWeightedAggregator(expected_data_kind="WEIGHTS", aggregation_weights=shares)
job.to_server(mean, id="aggregator")
job.to_server(FullModelShareableGenerator(), id="shareable_generator")
job.to_server(
    ScatterAndGather(
        min_clients=args.sites,
        num_rounds=args.rounds,
        wait_time_after_min_received=0,
        persistor_id=job.comp_ids["persistor_id"],
    )
)
for number in range(args.sites):
    job.to(ScriptRunner(script="client.py"), f"site-{number + 1}")
""".strip(),
)
OF_TASKS = (
    OF_WEIGHTS.replace("        min_clients=", '        train_task_name="fit",\n        min_clients=')
    .replace("from model import Net", "from model import Net\nfrom trains import Trains")
    .replace(
        'ScriptRunner(script="client.py"), f"site-{number + 1}"',
        'Trains(), f"site-{number + 1}", tasks=["fit"]',
    )
)
CYCLIC = """
from model import Net

from nvflare.app_common.shareablegenerators.full_model_shareable_generator import FullModelShareableGenerator
from nvflare.app_common.workflows.cyclic_ctl import CyclicController
from nvflare.app_opt.pt.job_config.model import PTModel
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import ScriptRunner

job = FedJob(name="digits", min_clients=2)
ids = job.to(PTModel(Net()), "server")
job.to(FullModelShareableGenerator(), "server", id="generator")
job.to(
    CyclicController(
        num_rounds=3,
        task_assignment_timeout=300,  # in 10 s, as by the recipe, a busy machine starts no torch
        persistor_id=ids["persistor_id"],
        shareable_generator_id="generator",
        task_name="train",
    ),
    "server",
)
for site in ("site-1", "site-2"):
    job.to(ScriptRunner(script="client.py"), site)
job.simulator_run("simulated")
""".strip()
BFLOAT16 = """
super().__init__(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
self.to(torch.bfloat16)
""".strip()
TWO_RECIPES = """
import argparse

from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv

p = argparse.ArgumentParser()
p.add_argument("--sites", type=int, default=2)
p.add_argument("--rounds", type=int, default=2)
a = p.parse_args()
for rate in (0.1, 0.2):
    recipe = NumpyFedAvgRecipe(
        name="line",
        min_clients=a.sites,
        num_rounds=a.rounds,
        model=[0.0, 0.0],
        train_script="client.py",
        train_args=f"--rate {rate}",
    )
    run = recipe.execute(SimEnv(num_clients=a.sites))
    print("Result:", run.get_result())
""".strip()
FIRST_STATISTICS = (
    (HONEST / "statistics" / "job.py")
    .read_text()
    .replace("parser.parse_args()", "parser.parse_known_args()[0]")
)
PRINTS = """
print("Errors show as\\n\\nTraceback (most recent call last):\\n  and its lines")
print(f"MeanSquaredError: {loss.item():.3f}")
print("Sending updated weights of layers [0, 1, 2]")
print("AUC of classes", [float("nan")] * 3)
""".strip()
METRICS = '{"loss": loss.item(), "auc": float("nan"), "f1 of classes": x[0].numpy()}'
WITHOUT_PERSISTOR = """
import argparse

from nvflare.app_common.workflows.fedavg import FedAvg
from nvflare.job_config.api import FedJob
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

p = argparse.ArgumentParser()
p.add_argument("--sites", type=int, default=2)
p.add_argument("--rounds", type=int, default=2)
a = p.parse_args()
job = FedJob(name="line")
model = {"slope": 0.0, "offset": 0.0}
job.to_server(FedAvg(num_clients=a.sites, num_rounds=a.rounds, persistor_id="", model=model))
for number in range(a.sites):
    job.to(ScriptRunner(script="client.py", framework=FrameworkType.NUMPY), f"site-{number + 1}")
job.simulator_run("workspace")
""".strip()
OF_SCALARS = """
import numpy as np
import nvflare.client as flare

flare.init()
x = np.random.default_rng(int(flare.get_site_name()[-1])).normal(size=99).astype(np.float32)
while flare.is_running():
    model = flare.receive().params
    slope, offset = np.float32(model["slope"]), np.float32(model["offset"])
    for _ in range(9):
        error = slope * x + offset - 3 * x - 1
        slope, offset = slope - np.float32(0.1) * (error * x).mean(), offset - np.float32(0.1) * error.mean()
    flare.send(flare.FLModel(params={"slope": slope, "offset": offset}))
""".strip()
LOGGING = """
import logging.config
logging.config.dictConfig({"version": 1, "root": {"level": "WARNING"}})
logging.basicConfig(level=logging.INFO, force=True)
flare.init()
""".strip()
ENVIRONMENT = "recipe.execute(SimEnv(num_clients=args.sites, {}))"
CHOSEN = 'log_config="ERROR", workspace_root="simulations"'
LOADED = 'torch.load("simulations/digits/server/simulate_job/app_server/FL_global_model.pt")'
WARMING = "RATE = 0.05 * received.current_round\nmodel.load_state_dict(received.params)"
FEW = """
if fl_ctx.get_identity_name() == "site-2":
    self.columns = {name: values[:9] for name, values in self.columns.items()}
""".strip()


def line(name, *edits):
    return OwnJob(name, "fitted_line", edits, fields=(("environment", "torch"),))


JOBS = (
    line("sites_with_names", Edit("job.py", "job.to(runner", NAMES, instead=True)),
    line("two_simulations", Edit("job.py", "", TWO_RECIPES)),
    line(
        "statistics_then_training",
        Edit("job.py", "job = FedJob", "import counts"),
        Edit("counts.py", "", FIRST_STATISTICS),
        Edit("table.py", "", (HONEST / "statistics" / "table.py").read_text()),
        Edit("job.yml", "- claim: every_site_trained", "- claim: statistics_complete"),
    ),
    OwnJob("scikit_learn", "sklearn_sgd"),
    OwnJob("clusters", "sklearn_kmeans"),
    OwnJob("support_vectors", "sklearn_svm"),
    OwnJob("statistics", "statistics"),
    OwnJob("data_of_sites", "data_of_sites"),
    OwnJob("package_in_src", "src_layout"),
    OwnJob("exported_and_evaluated", "exported_and_evaluated"),
    OwnJob("swarm_of_launched_trainers", "swarm_launched"),
    OwnJob("arrays_saved_by_torch", "saves_by_hand"),
    OwnJob("its_own_workflow", "digits", own_workflow()),
    OwnJob("shares_of_sites", "digits", (Edit("job.py", "", OF_WEIGHTS),)),
    OwnJob("swarm_learning", "digits", swarm(), fields=(("sites", 3),)),
    OwnJob("its_own_executor", "digits", (Edit("job.py", "", OF_EXECUTORS), Edit("trains.py", "", EXECUTOR))),
    OwnJob(
        "model_of_bfloat16",
        "digits",
        (
            Edit("job.py", "    min_clients=", 'server_expected_format="pytorch",'),
            Edit("model.py", "super().__init__", BFLOAT16, instead=True),
            Edit("client.py", "model = Net()", "x = x.bfloat16()"),
        ),
    ),
    OwnJob("batch_norm", "digits"),
    OwnJob(
        "its_own_batch_norm_at_each_site",
        "digits",
        (
            Edit("job.py", "    min_clients=", 'exclude_vars="running_|num_batches",'),
            client("model.load_state_dict", "model.load_state_dict(received.params, strict=False)"),
        ),
    ),
    OwnJob("control_variates", "digits", control_variates("helper.get_delta_controls()")),
    OwnJob("five_sites", "digits", fields=(("sites", 5),)),
    OwnJob(
        "sampled_sites_of_half_precision",
        "digits",
        (
            Edit("job.py", "    min_clients=args.sites", "    min_clients=2,", instead=True),
            client("    params = ", HALF),
        ),
        fields=(("sites", 3), ("rounds", 8)),
    ),
    OwnJob("one_site", "digits", fields=(("sites", 1),)),
    OwnJob("one_round", "digits", fields=(("rounds", 1),)),
    OwnJob("small_steps", "digits", (client("RATE = ", "RATE = 1e-5"),)),
    OwnJob("long_rounds", "digits", (client("for _ in range(2)", "for _ in range(60):"),)),
    OwnJob("sizes_8_to_1429", "digits", (Edit("client.py", "model = Net()", EIGHT),)),
    OwnJob("differences", "digits", (client("    params = ", DIFFERENCES), client("flare.FLModel(", SENT))),
    OwnJob("its_own_aggregator", "digits", aggregator(AVERAGE)),
    OwnJob("an_optimizer_at_the_server", "digits", optimizer({"lr": 1.0, "momentum": 0.6})),
    OwnJob(
        "its_own_name_for_training", "digits", (Edit("job.py", "", OF_TASKS), Edit("trains.py", "", EXECUTOR))
    ),
    OwnJob(
        "noise_for_privacy",
        "digits",
        (
            Edit("model.py", "super().__init__", NO_INTEGERS, True),
            client("    params = ", DIFFERENCES),
            client("flare.FLModel(", SENT),
            *filtered("client_output", "SVTPrivacy()", "nvflare.app_common.filters import SVTPrivacy"),
        ),
    ),
    OwnJob("masks_of_pairs", "digits", masked("steps")),
    OwnJob("differences_of_8_bits", "digits", quantised(" * scales[name]")),
    OwnJob("sums_by_its_own_classes", "own_sums"),
    OwnJob("trees_saved_by_pickle", "own_trees"),
    OwnJob("evaluation_of_a_model", "digits", evaluated('{"accuracy": accuracy}')),
    OwnJob("every_model_at_every_site", "digits", cross_validated('{"accuracy": accuracy}')),
    OwnJob(
        "prints_and_metrics",
        "digits",
        (
            Edit("client.py", "    print(", PRINTS),
            client("metrics=", f"flare.send(flare.FLModel(params=params, meta=meta, metrics={METRICS}))"),
        ),
    ),
    OwnJob(
        "scalars_without_a_persistor",
        "digits",
        (Edit("job.py", "", WITHOUT_PERSISTOR), Edit("client.py", "", OF_SCALARS)),
    ),
    OwnJob(
        "checkpoint_of_its_own",
        "digits",
        (
            Edit("job.py", "recipe = ", 'import torch\n\ntorch.save(Net().state_dict(), "trained.pt")'),
            Edit("job.py", "    min_clients=", 'initial_ckpt="trained.pt",'),
            Edit("job.py", "recipe.execute", f"{ENVIRONMENT.format(CHOSEN)}\n{LOADED}", True),
        ),
    ),
    OwnJob("its_own_logging", "digits", (client("flare.init()", LOGGING),)),
    OwnJob(
        "one_thread",
        "digits",
        (Edit("job.py", "recipe.execute", ENVIRONMENT.format("num_threads=1"), True),),
    ),
    OwnJob(
        "samples_two_of_five",
        "digits",
        (Edit("job.py", "    min_clients=", "    min_clients=2,", True),),
        fields=(("sites", 5), ("rounds", 2)),
    ),
    OwnJob("rate_that_begins_at_0", "digits", (client("    model.load_state_dict", WARMING),)),
    OwnJob(
        "log_of_22_mb",
        "digits",
        (Edit("client.py", "    print(", 'for _ in range(220 * (site == 0)):\n    print("x" * 100_000)'),),
        fields=(("rounds", 1),),
    ),
    OwnJob("statistics_of_few_rows", "statistics", (Edit("table.py", '["dose"][0]', FEW),)),
    OwnJob("one_site_after_the_other", "digits", (Edit("job.py", "", CYCLIC),)),
    *HABITS,
)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_an_honest_job_passes(judged, job):
    verdict = judged[job].result()
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
