"""A job with the options and the workflow of NVFlare's hello-numpy, written for our tests."""

import argparse

from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv

parser = argparse.ArgumentParser()
parser.add_argument("--n_clients", type=int, default=2)
parser.add_argument("--num_rounds", type=int, default=3)
parser.add_argument("--step", type=float, default=1.0)
parser.add_argument("--workspace", default="/tmp/nvflare/simulation")
args = parser.parse_args()

recipe = NumpyFedAvgRecipe(
    name="hello-numpy",
    min_clients=args.n_clients,
    num_rounds=args.num_rounds,
    model=[[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    train_script="client.py",
    train_args=f"--step {args.step}",
)
run = recipe.execute(SimEnv(num_clients=args.n_clients, workspace_root=args.workspace))
print("Result can be found in :", run.get_result())
