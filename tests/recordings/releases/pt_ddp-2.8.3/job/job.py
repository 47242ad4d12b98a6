"""The federated job: FedAvg through NVFlare's Recipe API in its simulator, then a look at the result."""

from __future__ import annotations

import shlex
from pathlib import Path

import torch
from model import CHANNELS, SmallCNN, accuracy, load
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import SimEnv

from rekindle.trainer import Evidence, Sites, job_options, shorten_waits
from rekindle.trainer.weights import global_model


def main() -> None:
    parser = job_options(__doc__)
    parser.add_argument("--dataset", choices=CHANNELS, default="digits")
    parser.add_argument("--data_path", type=Path, default=".", help="folder for the data")
    parser.add_argument("--batch_size", type=int, default=32, help="of one rank")
    parser.add_argument("--width", type=int, default=32, help="channels of the first convolution")
    args = parser.parse_args()

    torch.manual_seed(0)
    model = SmallCNN(CHANNELS[args.dataset], args.width)
    checkpoint = Path("initial.pt").absolute()
    torch.save(model.state_dict(), checkpoint)

    data_path = args.data_path.absolute()
    held_out = load(args.dataset, data_path)[1]
    sites = Sites(args.client_ids, args.gpu)
    options = (
        f"--sites {' '.join(sites.names)} --local_epoch {args.local_epoch} --dataset {args.dataset} "
        f"--batch_size {args.batch_size} --width {args.width} --data_path {shlex.quote(str(data_path))}"
    )
    recipe = FedAvgRecipe(
        name="pt_ddp",
        model=model,
        initial_ckpt=str(checkpoint),
        min_clients=len(sites.names),
        num_rounds=args.num_rounds,
        train_script="client.py",
        train_args=options,
        launch_external_process=True,
        per_site_config={name: {"command": sites.torchrun(name)} for name in sites.names},
        shutdown_timeout=sites.shutdown_timeout,
    )
    for target in (recipe.add_server_file, recipe.add_client_file):
        target("model.py")
    shorten_waits(recipe, exchange_format="pytorch")
    recipe.execute(SimEnv(clients=sites.names, workspace_root="workspace"))

    final = global_model("pt_ddp")
    model.load_state_dict(final)
    Evidence("job").final(
        final,
        metrics={"accuracy": accuracy(model, held_out, torch.device("cpu"))},
    )


if __name__ == "__main__":
    main()
