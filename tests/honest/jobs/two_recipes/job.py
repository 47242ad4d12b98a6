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
