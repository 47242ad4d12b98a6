import argparse

from nvflare.app_opt.sklearn.recipes.kmeans import KMeansFedAvgRecipe
from nvflare.recipe import SimEnv

p = argparse.ArgumentParser()
p.add_argument("--sites", type=int, default=2)
p.add_argument("--rounds", type=int, default=3)
a = p.parse_args()
recipe = KMeansFedAvgRecipe(
    name="digits_kmeans",
    min_clients=a.sites,
    num_rounds=a.rounds,
    n_clusters=10,
    train_script="client.py",
)
recipe.execute(SimEnv(num_clients=a.sites))
