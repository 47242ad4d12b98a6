import argparse

from nvflare.app_opt.sklearn.recipes.fedavg import SklearnFedAvgRecipe
from nvflare.recipe import SimEnv

p = argparse.ArgumentParser()
p.add_argument("--sites", type=int, default=2)
p.add_argument("--rounds", type=int, default=2)
a = p.parse_args()
recipe = SklearnFedAvgRecipe(
    name="digits_sgd",
    min_clients=a.sites,
    num_rounds=a.rounds,
    train_script="client.py",
    model_params={
        "n_classes": 10,
        "learning_rate": "constant",
        "eta0": 1e-4,
        "loss": "log_loss",
        "penalty": "l2",
        "fit_intercept": 1,
    },
)
recipe.execute(SimEnv(num_clients=a.sites))
