# SPDX-License-Identifier: Apache-2.0
"""FedAvg of a project whose package lies in src/, as after pip install -e."""

import argparse

from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv
from plane.net import Plane


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num-sites", type=int, default=2)
    parser.add_argument("--num-rounds", type=int, default=3)
    args = parser.parse_args()
    recipe = FedAvgRecipe(
        name="plane",
        min_clients=args.num_sites,
        num_rounds=args.num_rounds,
        model=Plane(),
        train_script="src/plane/train.py",
    )
    recipe.execute(SimEnv(num_clients=args.num_sites))


if __name__ == "__main__":
    main()
