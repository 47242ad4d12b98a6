"""Honest jobs of users that look odd: each passes."""

import pytest
from own_jobs import JOB_OF_CLASSES, Edit, OwnJob, aggregator, own_workflow, swarm

AVERAGE = (
    "type(self.got[0])(params={n: sum(model.params[n] for model in self.got) / len(self.got) "
    "for n in self.got[0].params}, params_type=self.got[0].params_type)"
)
EIGHT = "x, y = (x[:8], y[:8]) if site else (x, y)"
DIFFERENCES = "params = {n: v - received.params[n].to(v) for n, v in model.state_dict().items()}"
HALF = "params = {n: v.half() if v.is_floating_point() else v for n, v in model.state_dict().items()}"
SENT = 'flare.send(flare.FLModel(params=params, params_type="DIFF", meta=meta))'
FEDOPT = "from nvflare.app_opt.pt.recipes.fedopt import FedOptRecipe as FedAvgRecipe"
SGD = """    name="digits",
    device="cpu",
    optimizer_args={"path": "torch.optim.SGD", "args": {"lr": 1.0, "momentum": 0.6}},"""
SCAFFOLD = "from nvflare.app_opt.pt.recipes.scaffold import ScaffoldRecipe as FedAvgRecipe"
IMPORTS = """
import copy
from nvflare.app_common.app_constant import AlgorithmConstants
from nvflare.app_opt.pt.scaffold import PTScaffoldHelper
""".strip()
HELPER = """
model, helper = Net(), PTScaffoldHelper()
helper.init(model)
def tensors(arrays):
    return {name: torch.as_tensor(value) for name, value in arrays.items()}
""".strip()
TAKEN = """
model.load_state_dict(tensors(received.params))
given = copy.deepcopy(model)
helper.load_global_controls(weights=tensors(received.meta[AlgorithmConstants.SCAFFOLD_CTRL_GLOBAL]))
every, own = helper.get_params()
""".strip()
CONTROLLED = """
step(model, RATE)
helper.model_update(model=model, curr_lr=RATE, c_global_para=every, c_local_para=own)
""".strip()
GIVEN = """
helper.terms_update(model=model, curr_lr=RATE, c_global_para=every, c_local_para=own, model_global=given)
params = {n: v - given.state_dict()[n] for n, v in model.state_dict().items()}
""".strip()
CONTROLS = (
    'meta = {"NUM_STEPS_CURRENT_ROUND": steps, '
    "AlgorithmConstants.SCAFFOLD_CTRL_DIFF: helper.get_delta_controls()}"
)
NO_INTEGERS = "super().__init__(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))"
NAMES = 'job.to(runner, ("clinic-b", "hospital_a", "uni.c")[number - 1])'
EXECUTOR = """
import torch
from model import Net, points, step
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.executor import Executor


class Trains(Executor):
    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        site = int(fl_ctx.get_identity_name().rsplit("-", 1)[1]) - 1
        x, y = (part[site::2] for part in points())
        model = Net()
        weights = from_shareable(shareable).data.items()
        model.load_state_dict({name: torch.as_tensor(value) for name, value in weights})
        batches = torch.randperm(len(x)).split(32)
        for batch in batches:
            model.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            step(model, 0.05)
        weights = {name: value.numpy() for name, value in model.state_dict().items()}
        meta = {MetaKey.NUM_STEPS_CURRENT_ROUND: len(batches)}
        return DXO(DataKind.WEIGHTS, data=weights, meta=meta).to_shareable()
""".strip()
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


def put(before, after):
    """Return an edit of client.py that replaces a line."""
    return Edit("client.py", before, after, instead=True)


def line(name, edit):
    return OwnJob(name, "fitted_line", (edit,), fields=(("environment", "torch"),))


JOBS = (
    line("sites_with_names", Edit("job.py", "job.to(runner", NAMES, instead=True)),
    line("two_simulations", Edit("job.py", "", TWO_RECIPES)),
    OwnJob("scikit_learn", "sklearn_sgd"),
    OwnJob("clusters", "sklearn_kmeans"),
    OwnJob("support_vectors", "sklearn_svm"),
    OwnJob("statistics", "statistics"),
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
            put("model.load_state_dict", "model.load_state_dict(received.params, strict=False)"),
        ),
    ),
    OwnJob(
        "control_variates",
        "digits",
        (
            Edit("job.py", "from nvflare.app_opt", SCAFFOLD, instead=True),
            Edit("model.py", "super().__init__", NO_INTEGERS, instead=True),
            Edit("client.py", "import nvflare", IMPORTS),
            put("model = Net()", HELPER),
            put("model.load_state_dict", TAKEN),
            put("step(model, RATE)", CONTROLLED),
            put("    params = ", GIVEN),
            put("    meta = ", CONTROLS),
            put("flare.FLModel(", SENT),
        ),
    ),
    OwnJob("five_sites", "digits", fields=(("sites", 5),)),
    OwnJob(
        "sampled_sites_of_half_precision",
        "digits",
        (
            Edit("job.py", "    min_clients=args.sites", "    min_clients=2,", instead=True),
            put("    params = ", HALF),
        ),
        fields=(("sites", 3), ("rounds", 8)),
    ),
    OwnJob("one_site", "digits", fields=(("sites", 1),)),
    OwnJob("one_round", "digits", fields=(("rounds", 1),)),
    OwnJob("small_steps", "digits", (put("RATE = ", "RATE = 1e-5"),)),
    OwnJob("long_rounds", "digits", (put("for _ in range(2)", "for _ in range(60):"),)),
    OwnJob("sizes_8_to_1429", "digits", (Edit("client.py", "model = Net()", EIGHT),)),
    OwnJob("differences", "digits", (put("    params = ", DIFFERENCES), put("flare.FLModel(", SENT))),
    OwnJob("its_own_aggregator", "digits", aggregator(AVERAGE)),
    OwnJob(
        "an_optimizer_at_the_server",
        "digits",
        (
            Edit("job.py", "from nvflare.app_opt", FEDOPT, instead=True),
            Edit("job.py", '    name="digits"', SGD, instead=True),
            put("    params = ", DIFFERENCES),
            put("flare.FLModel(", SENT),
        ),
    ),
)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_an_honest_job_passes(judged, job):
    verdict = judged[job].result()
    assert (verdict.verdict, verdict.cause) == ("PASS", None)
