# SPDX-License-Identifier: Apache-2.0
"""One rank of one site: Lightning's Trainer with DDP, patched by nvflare.client.lightning."""

from __future__ import annotations

import argparse
import time
from typing import Any

import nvflare.client.lightning as flare
import torch.distributed as dist
from model import Digits, SmallCNN
from nvflare.app_common.abstract.fl_model import MetaKey
from nvflare.app_opt.lightning.api import FLCallback
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint

from rekindle.trainer import (
    GLOBAL_RANK,
    NODES,
    SITE,
    WORLD_SIZE,
    Evidence,
    fingerprint_weights,
    install_guard,
    take_turn,
)
from rekindle.trainer.ddp import broadcast_value, join_group
from rekindle.trainer.pace import Pace


class FedCallback(FLCallback):
    """NVFlare's own callback, with three faults of 2.7.3 mended.

    It omits the metrics of ``validate()`` unless a setting that recipes lack asks for them, it sends from
    every rank, which fails where only rank 0 received, and it weighs a site by the steps of all its rounds.
    """

    def __init__(self) -> None:
        super().__init__(rank=GLOBAL_RANK)
        self.train_with_evaluation = True

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self.steps_before = trainer.global_step
        super().on_train_start(trainer, module)

    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        steps = trainer.global_step - self.steps_before
        module.__fl_meta__ = {MetaKey.NUM_STEPS_CURRENT_ROUND: steps}
        super().on_train_end(trainer, module)

    def _send_model(self, output_model: flare.FLModel) -> None:
        if GLOBAL_RANK == 0:
            super()._send_model(output_model)


class Witness(Callback):
    """Writes down what this rank does in each round."""

    def __init__(self, evidence: Evidence, pace: Pace) -> None:
        self.evidence, self.pace = evidence, pace
        self.number = 0
        self.metrics: dict[str, float] = {}

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        if trainer.validating:
            self.metrics = {"accuracy": float(trainer.callback_metrics["accuracy"])}

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        self.model_in, self.losses, self.samples = fingerprint_weights(module.state_dict()), [], 0
        self.began = time.perf_counter()

    def on_train_batch_end(self, trainer: Trainer, module: LightningModule, *rest: Any) -> None:
        _, (images, _), _ = rest
        self.samples += len(images)

    def on_train_epoch_end(self, trainer: Trainer, module: LightningModule) -> None:
        self.losses.append(float(trainer.callback_metrics["train_loss"]))

    def on_train_end(self, trainer: Trainer, module: LightningModule) -> None:
        self.evidence.round(
            self.number,
            samples=self.samples,
            seconds=time.perf_counter() - self.began,
            losses=self.losses,
            metrics=self.metrics,
            model_in=self.model_in,
            model_out=fingerprint_weights(module.state_dict()),
            forward_s=self.pace.take(),
        )
        self.number += 1


def main() -> None:
    evidence = Evidence()
    install_guard(evidence)
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", nargs="+", required=True)
    parser.add_argument("--local_epoch", type=int, default=2)
    args = parser.parse_args()

    device = join_group(evidence)
    module, data = SmallCNN(), Digits(args.sites.index(SITE), len(args.sites))
    trainer = Trainer(
        accelerator="gpu" if device.type == "cuda" else "cpu",
        devices=WORLD_SIZE // NODES,
        num_nodes=NODES,
        strategy="ddp",
        max_epochs=args.local_epoch,
        callbacks=[
            Witness(evidence, Pace(module.layers)),
            ModelCheckpoint(f"checkpoints-{SITE}", save_last=True),
            FedCallback(),
        ],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        check_val_every_n_epoch=10**6,
    )
    flare.patch(trainer)
    while broadcast_value(flare.is_running() if GLOBAL_RANK == 0 else None):
        with take_turn():
            broadcast_value("go")
            trainer.validate(module, datamodule=data, verbose=False)
            trainer.fit(module, datamodule=data)
            trainer.test(module, datamodule=data, verbose=False)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
