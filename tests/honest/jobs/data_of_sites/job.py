"""Least squares on a file of each site's own, which its job.yml brings to the host."""

import argparse

from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
args = parser.parse_args()
recipe = NumpyFedAvgRecipe(
    name="data_of_sites",
    min_clients=2,
    num_rounds=3,
    model=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    train_script="client.py",
    train_args=f"--data {args.data}",
)
recipe.execute(SimEnv(num_clients=2))
