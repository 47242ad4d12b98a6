"""A job with the options and the workflow of NVFlare's hello-pt, written for our tests."""

import argparse

from model import Small
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv

parser = argparse.ArgumentParser()
parser.add_argument("--n_clients", type=int, default=2)
parser.add_argument("--num_rounds", type=int, default=2)
args = parser.parse_args()

recipe = FedAvgRecipe(
    name="hello-pt",
    min_clients=args.n_clients,
    num_rounds=args.num_rounds,
    model=Small(),
    train_script="client.py",
)
run = recipe.execute(SimEnv(num_clients=args.n_clients))
print("Result can be found in :", run.get_result())
