# SPDX-License-Identifier: Apache-2.0
"""FedAvg with the messages that the options ask for: their format, quantised, streamed."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from exchange import WholeTensors
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.app_opt.tensor_stream.client import TensorClientStreamer
from nvflare.app_opt.tensor_stream.server import TensorServerStreamer
from nvflare.client.config import ExchangeFormat
from tracking import job_of, track

from rekindle.trainer import Sites

FORMATS = {"numpy": ExchangeFormat.NUMPY, "tensor": ExchangeFormat.PYTORCH}
TRAIN = ["train"]
WITHOUT_GPU = ("float16", "adaquant")


def make_recipe(
    args: argparse.Namespace, sites: Sites, base: str, data: Path, checkpoint: Path
) -> FedAvgRecipe:
    """Return the recipe; ``checkpoint`` holds the exchanged weights to start from."""
    options = (
        f"--model_name_or_path {shlex.quote(base)} --data_path {shlex.quote(str(data))} "
        f"--train_mode {args.train_mode} --local_epoch {args.local_epoch} "
        f"--num_rounds {args.num_rounds} --lr_scheduler {shlex.quote(args.lr_scheduler)} "
        f"--learning_rate {args.learning_rate} --batch_size {args.batch_size} "
        f"--use_tracking {' '.join(args.use_tracking)}"
    )
    recipe = FedAvgRecipe(
        name="llm_sft",
        model={"class_path": "exchange.ExchangedWeights", "args": {"path": str(checkpoint)}},
        min_clients=len(sites.names),
        num_rounds=args.num_rounds,
        train_script="client.py",
        train_args=options,
        launch_external_process=True,
        per_site_config={name: {"command": sites.torchrun(name)} for name in sites.names},
        server_expected_format=FORMATS[args.message_mode],
        key_metric="neg_eval_loss",
        shutdown_timeout=sites.shutdown_timeout,
    )
    recipe.add_server_file("exchange.py")
    for file in ("exchange.py", "model.py", "instructions.py"):
        recipe.add_client_file(file)
    if args.quantize_mode:
        quantise(recipe, args.quantize_mode)
    if args.tensor_stream:
        stream(recipe, sites)
    track(recipe, sites, args.use_tracking, args.wandb_project)
    return recipe


def quantise(recipe: FedAvgRecipe, mode: str) -> None:
    """Send every message in fewer bits; training and aggregation keep full precision.

    Raises:
        SystemExit: NVFlare 2.7.3 does it on a GPU only, which its server and clients must not see.
    """
    if mode not in WITHOUT_GPU:
        raise SystemExit(
            f"--quantize_mode {mode} needs CUDA in NVFlare's server and clients, which see no GPU: those are "
            f"the trainers'. Fix: --quantize_mode {' or '.join(WITHOUT_GPU)}."
        )
    from nvflare.app_opt.pt.quantization.dequantizer import ModelDequantizer  # these load bitsandbytes
    from nvflare.app_opt.pt.quantization.quantizer import ModelQuantizer

    recipe.add_server_output_filter(ModelQuantizer(mode), tasks=TRAIN)
    recipe.add_server_input_filter(ModelDequantizer(), tasks=TRAIN)
    for step in (WholeTensors(), ModelDequantizer()):
        recipe.add_client_input_filter(step, tasks=TRAIN)
    for step in (WholeTensors(), ModelQuantizer(mode)):
        recipe.add_client_output_filter(step, tasks=TRAIN)


def stream(recipe: FedAvgRecipe, sites: Sites) -> None:
    """Send tensors one by one as safetensors, instead of the model as one message."""
    recipe.add_client_output_filter(WholeTensors(), tasks=TRAIN)
    job = job_of(recipe)
    job.to_server(TensorServerStreamer(), "tensor_server_streamer")
    for name in sites.names:
        job.to(TensorClientStreamer(), name, "tensor_client_streamer")
