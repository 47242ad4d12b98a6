import argparse

from nvflare.app_opt.sklearn.recipes.svm import SVMFedAvgRecipe
from nvflare.recipe import SimEnv

p = argparse.ArgumentParser()
p.add_argument("--sites", type=int, default=2)
a = p.parse_args()
recipe = SVMFedAvgRecipe(name="svm", min_clients=a.sites, kernel="rbf", train_script="client.py")
recipe.execute(SimEnv(num_clients=a.sites))
