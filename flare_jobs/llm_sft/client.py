# SPDX-License-Identifier: Apache-2.0
"""One rank of one site: transformers' Trainer on the site's own instructions."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from instructions import files
from model import exchanged, load_model, tokenized
from torch import Tensor
from transformers import DataCollatorForSeq2Seq, Trainer, TrainerCallback, TrainingArguments

from rekindle.trainer import (
    SITE,
    WORLD_SIZE,
    Evidence,
    fingerprint_weights,
    follow_rank_zero,
    install_guard,
)
from rekindle.trainer.ddp import broadcast_value, join_group, load_weights
from rekindle.trainer.pace import Pace
from rekindle.trainer.weights import measure_weights


class Clock(TrainerCallback):
    """Takes the time from the first epoch's begin, after the evaluation that comes before it."""

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        if not state.epoch:
            self.began = time.perf_counter()


class OverRounds(Trainer):
    """Its schedule of the learning rate spans all rounds, which are trained separately."""

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        scheduler = super().create_scheduler(num_training_steps * self.rounds, optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # steps of the optimizer before, which other rounds made
            for _ in range(num_training_steps * self.round):
                scheduler.step()
        return scheduler


def main() -> None:
    evidence = Evidence()
    install_guard(evidence)
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name_or_path", required=True)
    parser.add_argument("--data_path", type=Path, required=True)
    parser.add_argument("--train_mode", choices=["SFT", "PEFT"], required=True)
    parser.add_argument("--local_epoch", type=int, required=True)
    parser.add_argument("--num_rounds", type=int, required=True)
    parser.add_argument("--lr_scheduler", required=True, help="over all rounds")
    parser.add_argument("--learning_rate", type=float, required=True)
    parser.add_argument("--batch_size", type=int, required=True)
    parser.add_argument("--use_tracking", nargs="*", required=True)
    args = parser.parse_args()

    device = join_group(evidence)
    data, tokenizer = tokenized(files(args.data_path, SITE), args.model_name_or_path)
    model = load_model(args.model_name_or_path, args.train_mode).to(device)
    weights, pace = exchanged(model), Pace(model)
    how = TrainingArguments(
        output_dir=f"trainer-{SITE}",
        num_train_epochs=args.local_epoch,
        per_device_train_batch_size=args.batch_size,
        learning_rate=args.learning_rate,
        lr_scheduler_type=args.lr_scheduler,
        bf16=device.type == "cuda",
        use_cpu=device.type == "cpu",
        dataloader_drop_last=True,
        dataloader_pin_memory=False,
        ddp_find_unused_parameters=False,
        eval_on_start=True,  # evaluate() before train() leaves the model out of DDP (accelerate 1.15)
        logging_strategy="epoch",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )

    clock = Clock()
    trainer = OverRounds(
        model=model,
        args=how,
        train_dataset=data["training"],
        eval_dataset=data["validation"],
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        callbacks=[clock],
    )

    for number, received in follow_rank_zero(broadcast_value):
        load_weights(weights, received)
        model_in = fingerprint_weights(weights)
        trainer.optimizer = trainer.lr_scheduler = None  # new in each round; the schedule goes on
        trainer.round, trainer.rounds = number, args.num_rounds
        trainer.train()
        seconds = time.perf_counter() - clock.began
        history = trainer.state.log_history
        loss = next(entry["eval_loss"] for entry in history if "eval_loss" in entry)
        losses = [entry["loss"] for entry in history if "loss" in entry]
        metrics = {"eval_loss": loss, "neg_eval_loss": -loss}
        evidence.round(
            number,
            samples=trainer.state.global_step * args.batch_size,
            seconds=seconds,
            losses=losses,
            metrics=metrics,
            model_in=model_in,
            model_out=fingerprint_weights(weights),
            bytes_in=measure_weights(received.params) if received else None,
            bytes_out=measure_weights(weights) if received else None,
            forward_s=pace.take(),
        )
        if received is not None:
            if args.use_tracking:
                track(number, {"loss": losses[-1], "eval_loss": loss})
            send(weights, metrics, steps=trainer.state.global_step * WORLD_SIZE)
    dist.destroy_process_group()


def track(number: int, values: dict[str, float]) -> None:
    """Log a round's values; what MLflow's writer sends, all trackers of a recipe take."""
    from nvflare.client.tracking import MLflowWriter  # rank 0 alone loads NVFlare

    writer = MLflowWriter()
    for name, value in values.items():
        writer.log_metric(name, value, step=number)


def send(weights: dict[str, Tensor], metrics: dict[str, float], steps: int) -> None:
    import nvflare.client as flare

    params = {name: tensor.detach().to("cpu", torch.float32, copy=True) for name, tensor in weights.items()}
    flare.send(flare.FLModel(params=params, metrics=metrics, meta={"NUM_STEPS_CURRENT_ROUND": steps}))


if __name__ == "__main__":
    main()
