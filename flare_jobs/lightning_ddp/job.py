# SPDX-License-Identifier: Apache-2.0
"""The federated job: FedAvg through NVFlare's Recipe API in its simulator, then a look at the result."""

from __future__ import annotations

from pathlib import Path

import torch
from model import Digits, SmallCNN
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv

from rekindle.trainer import Evidence, Sites, make_parser
from rekindle.trainer.weights import read_global_model


def main() -> None:
    args = make_parser(__doc__).parse_args()

    torch.manual_seed(0)
    model = SmallCNN()
    checkpoint = Path("initial.pt").absolute()
    torch.save(model.state_dict(), checkpoint)

    sites = Sites(args.client_ids, args.gpu)
    recipe = FedAvgRecipe(
        name="lightning_ddp",
        model=model,
        initial_ckpt=str(checkpoint),
        min_clients=len(sites.names),
        num_rounds=args.num_rounds,
        train_script="client.py",
        train_args=f"--sites {' '.join(sites.names)} --local_epoch {args.local_epoch}",
        launch_external_process=True,
        per_site_config={name: {"command": sites.torchrun(name)} for name in sites.names},
        key_metric="accuracy",
        shutdown_timeout=sites.shutdown_timeout,
    )
    for target in (recipe.add_server_file, recipe.add_client_file):
        target("model.py")
    recipe.execute(SimEnv(clients=sites.names, workspace_root="workspace"))

    final = read_global_model("lightning_ddp")
    model.load_state_dict(final)
    model.eval()
    images, labels = Digits().held_out.tensors
    with torch.no_grad():
        hits = float((model(images).argmax(1) == labels).float().mean())
    Evidence("job").final(
        final,
        metrics={"accuracy": hits},
    )


if __name__ == "__main__":
    main()
