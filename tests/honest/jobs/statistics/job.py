"""NVFlare's federated statistics."""

import argparse

from nvflare.recipe import SimEnv
from nvflare.recipe.fedstats import FedStatsRecipe
from table import Table

parser = argparse.ArgumentParser()
parser.add_argument("--sites", type=int, default=2)
sites = [f"site-{number + 1}" for number in range(parser.parse_args().sites)]
recipe = FedStatsRecipe(
    name="statistics",
    stats_output_path="statistics/found.json",
    sites=sites,
    statistic_configs={"count": {}, "sum": {}, "mean": {}},
    stats_generator=Table(),
)
recipe.execute(SimEnv(clients=sites, num_threads=len(sites)))
