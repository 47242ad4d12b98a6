# SPDX-License-Identifier: Apache-2.0
"""The job that faults are injected into: NVFlare's numpy FedAvg, external trainers, a look at the result."""

from pathlib import Path

import numpy as np
from model import INITIAL, accuracy, load
from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv

from rekindle.trainer import Evidence, Sites, make_parser

GLOBAL_MODEL = Path("workspace/fault_job/server/simulate_job/models/server.npy")


def main() -> None:
    args = make_parser(__doc__).parse_args()
    sites = Sites(args.client_ids, args.gpu)
    recipe = NumpyFedAvgRecipe(
        name="fault_job",
        model=INITIAL,
        min_clients=len(sites.names),
        num_rounds=args.num_rounds,
        train_script="client.py",
        launch_external_process=True,
        per_site_config={name: {"command": sites.python(name)} for name in sites.names},
        shutdown_timeout=10.0,
    )
    recipe.add_client_file("model.py")
    recipe.execute(SimEnv(clients=sites.names, workspace_root="workspace"))

    if not GLOBAL_MODEL.exists():
        raise SystemExit(f"NVFlare left no global model at {GLOBAL_MODEL}: the cause is in the sites' logs.")
    final = np.load(GLOBAL_MODEL)
    Evidence("job").final(
        {"numpy_key": final},
        metrics={"accuracy": accuracy(final, *load(seed=0))},
    )


if __name__ == "__main__":
    main()
