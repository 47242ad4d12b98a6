"""A FedAvg of a small network with BatchNorm on points like digits, as NVFlare's hello-pt has it."""

import argparse

from model import Net
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv

parser = argparse.ArgumentParser()
parser.add_argument("--sites", type=int, default=2)
parser.add_argument("--rounds", type=int, default=3)
args = parser.parse_args()

recipe = FedAvgRecipe(
    name="digits",
    model=Net(),
    min_clients=args.sites,
    num_rounds=args.rounds,
    train_script="client.py",
)
recipe.execute(SimEnv(num_clients=args.sites))
