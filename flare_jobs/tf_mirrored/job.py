# SPDX-License-Identifier: Apache-2.0
"""The federated job: FedAvg through NVFlare's Recipe API in its simulator, then a look at the result."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf
from model import SmallCNN, accuracy, load, weights_of
from nvflare.app_opt.tf.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv

from rekindle.trainer import Evidence, Sites, make_parser


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--batch_size", type=int, default=32, help="of one replica")
    args = parser.parse_args()

    tf.keras.utils.set_random_seed(0)
    model = SmallCNN()
    checkpoint = Path("initial.weights.h5").absolute()
    model.save_weights(checkpoint)

    sites = Sites(args.client_ids, args.gpu)
    options = (
        f"--sites {' '.join(sites.names)} --local_epoch {args.local_epoch} --batch_size {args.batch_size}"
    )
    recipe = FedAvgRecipe(
        name="tf_mirrored",
        model={"class_path": "model.SmallCNN", "args": {}},
        initial_ckpt=str(checkpoint),
        min_clients=len(sites.names),
        num_rounds=args.num_rounds,
        train_script="client.py",
        launch_external_process=True,
        per_site_config={
            name: {"command": sites.python(name), "train_args": f"{options} --replicas {sites.ranks(name)}"}
            for name in sites.names
        },
        shutdown_timeout=sites.shutdown_timeout,
    )
    for target in (recipe.add_server_file, recipe.add_client_file):
        target("model.py")
    recipe.execute(SimEnv(clients=sites.names, workspace_root="workspace"))

    result = Path("workspace/tf_mirrored/server/simulate_job/app_server/tf_model.weights.h5")
    if not result.exists():
        raise SystemExit(f"NVFlare left no global model at {result}: the cause is in the sites' logs.")
    model.load_weights(result)
    _, held_out = load()
    Evidence("job").final(
        weights_of(model),
        metrics={"accuracy": accuracy(model, *held_out)},
    )


if __name__ == "__main__":
    main()
