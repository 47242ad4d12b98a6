# SPDX-License-Identifier: Apache-2.0
"""Edits of the digits job into kinds of NVFlare's that tests run honest and broken."""

from runners.own_jobs import Edit, client

AVERAGE = (
    "type(self.got[0])(params={n: sum(model.params[n] for model in self.got) / len(self.got) "
    "for n in self.got[0].params}, params_type=self.got[0].params_type)"
)
DIFFERENCES = "params = {n: v - received.params[n].to(v) for n, v in model.state_dict().items()}"
SENT = 'flare.send(flare.FLModel(params=params, params_type="DIFF", meta=meta))'
FEDOPT = "from nvflare.app_opt.pt.recipes.fedopt import FedOptRecipe as FedAvgRecipe"
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
NO_INTEGERS = "super().__init__(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))"
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
FILTER = """
import copy

from nvflare.apis.dxo import DataKind
from nvflare.apis.dxo_filter import DXOFilter


class Own(DXOFilter):
    def __init__(self):
        kinds = [DataKind.WEIGHTS, DataKind.WEIGHT_DIFF]
        super().__init__(supported_data_kinds=kinds, data_kinds_to_filter=kinds)
        self.first = None

    def process_dxo(self, dxo, shareable, fl_ctx):
        self.first = self.first or copy.deepcopy(dxo.data)
        dxo.data = self.first
        return dxo
""".strip()
QUANTISED = """
import numpy as np
from nvflare.apis.dxo import DataKind
from nvflare.apis.dxo_filter import DXOFilter


class Codes(DXOFilter):
    def __init__(self):
        kinds = [DataKind.WEIGHT_DIFF]
        super().__init__(supported_data_kinds=kinds, data_kinds_to_filter=kinds)

    def process_dxo(self, dxo, shareable, fl_ctx):
        arrays = {{name: np.asarray(value) for name, value in dxo.data.items()}}
        scales = {{name: float(np.abs(value).max() / 127) or 1.0 for name, value in arrays.items()}}
        dxo.data = {{name: np.round(value / scales[name]).astype("int8") for name, value in arrays.items()}}
        dxo.set_meta_prop("scales", scales)
        return dxo


class Numbers(Codes):
    def process_dxo(self, dxo, shareable, fl_ctx):
        scales = dxo.get_meta_prop("scales")
        dxo.data = {{name: value.astype("float32"){times} for name, value in dxo.data.items()}}
        return dxo
""".strip()
EVALUATES = """
import argparse
import os

import torch
from model import Net
from nvflare.app_opt.pt.recipes.fedeval import FedEvalRecipe
from nvflare.recipe import SimEnv

parser = argparse.ArgumentParser()
parser.add_argument("--sites", type=int, default=2)
args = parser.parse_args()
torch.save(Net().state_dict(), "trained.pt")
recipe = FedEvalRecipe(
    name="digits",
    model=Net(),
    eval_ckpt=os.path.abspath("trained.pt"),
    min_clients=args.sites,
    eval_script="client.py",
)
recipe.execute(SimEnv(num_clients=args.sites))
""".strip()
VALIDATES = """
if flare.is_submit_model():
    flare.send(flare.FLModel(params=params))
    continue
model.load_state_dict(received.params)
if flare.is_evaluate():
    model.eval()
    accuracy = (model(x).argmax(1) == y).float().mean().item()
    flare.send(flare.FLModel(metrics={metrics}))
    continue
""".strip()


def optimizer(sgd):
    """Return what has the server take the mean of differences for SGD's gradient, with these arguments."""
    return (
        Edit("job.py", "from nvflare.app_opt", FEDOPT, instead=True),
        Edit(
            "job.py",
            "    min_clients=",
            f'device="cpu",\noptimizer_args={{"path": "torch.optim.SGD", "args": {sgd}}},',
        ),
        client("    params = ", DIFFERENCES),
        client("flare.FLModel(", SENT),
    )


def control_variates(controls):
    """Return what makes the digits job SCAFFOLD, whose sites send ``controls``."""
    key = "AlgorithmConstants.SCAFFOLD_CTRL_DIFF"
    return (
        Edit("job.py", "from nvflare.app_opt", SCAFFOLD, instead=True),
        Edit("model.py", "super().__init__", NO_INTEGERS, instead=True),
        Edit("client.py", "import nvflare", IMPORTS),
        client("model = Net()", HELPER),
        client("model.load_state_dict", TAKEN),
        client("step(model, RATE)", CONTROLLED),
        client("    params = ", GIVEN),
        client("    meta = ", f"meta = {{'NUM_STEPS_CURRENT_ROUND': steps, {key}: {controls}}}"),
        client("flare.FLModel(", SENT),
    )


def filtered(where, made, by):
    """Return what puts the filter ``made``, imported from ``by``, where the recipe has its filters."""
    return (
        Edit("job.py", "from model import Net", f"from {by}\nfrom model import Net", True),
        Edit("job.py", "recipe.execute", f'recipe.add_{where}_filter({made}, tasks=["train"])'),
    )


def masked(weight):
    """Return what has each of two sites add a mask that cancels with the other's in the sum of results.

    Args:
        weight: Python for a site's weight in the mean
    """
    sign = "(1 if fl_ctx.get_identity_name() == 'site-1' else -1)"
    mask = f"{sign} * np.random.default_rng(7).normal(size=v.shape)"
    masks = f"dxo.data = {{n: (v + {mask}).astype(v.dtype) for n, v in dxo.data.items()}}"
    kept, _, _ = FILTER.replace("import copy", "import numpy as np").partition(
        "        self.first = self.first"
    )
    return (
        Edit("model.py", "super().__init__", NO_INTEGERS, instead=True),
        client("meta = ", f'meta = {{"NUM_STEPS_CURRENT_ROUND": {weight}}}'),
        Edit("own_filter.py", "", f"{kept}        {masks}\n        return dxo\n"),
        *filtered("client_output", "Own()", "own_filter import Own"),
    )


def quantised(times):
    """Return what has sites send differences in 8 bits, which a filter at the server turns back."""
    return (
        Edit("model.py", "super().__init__", NO_INTEGERS, instead=True),
        Edit("quantised.py", "", QUANTISED.format(times=times)),
        client("    params = ", DIFFERENCES),
        client("flare.FLModel(", SENT.replace("meta=meta", 'meta=meta, metrics={"loss": loss.item()}')),
        *filtered("client_output", "Codes()", "quantised import Codes"),
        *filtered("server_input", "Numbers()", "quantised import Numbers"),
    )


def evaluated(metrics):
    """Return what makes the digits job a federated evaluation, alone, whose sites report ``metrics``."""
    return (
        Edit("job.py", "", EVALUATES),
        Edit("job.yml", "command:", 'command: [job.py, --sites, "{sites}"]', True),
        *(
            Edit("job.yml", f"  - claim: {claim}", "", True)
            for claim in ("every_site_trained", "rounds_completed", "global_model_saved")
        ),
        client("    model.load_state_dict", VALIDATES.format(metrics=metrics)),
    )


def cross_validated(metrics):
    """Return what has the digits job evaluate every site's model at every site, which reports ``metrics``."""
    add = "from nvflare.recipe.utils import add_cross_site_evaluation"
    return (
        Edit("job.py", "from nvflare.recipe", f"from nvflare.recipe import SimEnv\n{add}", True),
        Edit("job.py", "recipe.execute", "add_cross_site_evaluation(recipe)"),
        Edit("job.yml", "  - claim: global_model_saved", "- claim: cross_validation_complete"),
        client("    model.load_state_dict", VALIDATES.format(metrics=metrics)),
    )


def statistics(at, lines):
    """Return a line of the statistics job in the place of another."""
    return Edit("table.py", at, lines, instead=True)
