"""One rank of one site: DistributedDataParallel on this site's share of the data."""

from __future__ import annotations

import argparse
import time

import torch
import torch.distributed as dist
from model import CHANNELS, SmallCNN, accuracy, load
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset

from rekindle.trainer import SITE, Evidence, end_at_uncaught_exception, fingerprint, follow_rank_zero
from rekindle.trainer.ddp import broadcast, join, mean, take
from rekindle.trainer.pace import Pace


def main() -> None:
    evidence = Evidence()
    end_at_uncaught_exception(evidence)
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", nargs="+", required=True)
    parser.add_argument("--local_epoch", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--dataset", choices=CHANNELS, default="digits")
    parser.add_argument("--data_path", required=True)
    parser.add_argument("--width", type=int, default=32)
    args = parser.parse_args()

    device = join(evidence)
    data, held_out = load(args.dataset, args.data_path)
    mine = Subset(data, range(args.sites.index(SITE), len(data), len(args.sites)))
    sampler = DistributedSampler(mine)
    batches = DataLoader(mine, batch_size=args.batch_size, sampler=sampler)
    model = SmallCNN(CHANNELS[args.dataset], args.width).to(device)
    pace = Pace(model)
    ddp = DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)
    loss_of = nn.CrossEntropyLoss()

    for number, received in follow_rank_zero(broadcast):
        take(model.state_dict(), received)
        model_in = fingerprint(model.state_dict())
        metrics = {"accuracy": accuracy(model, held_out, device)}

        optimizer = torch.optim.Adam(ddp.parameters(), lr=2e-3)
        losses, samples, began = [], 0, time.perf_counter()
        ddp.train()
        for epoch in range(args.local_epoch):
            sampler.set_epoch(number * args.local_epoch + epoch)
            total = torch.zeros((), device=device)
            for images, labels in batches:
                optimizer.zero_grad()
                loss = loss_of(ddp(images.to(device)), labels.to(device))
                loss.backward()
                optimizer.step()
                total += loss.detach()
                samples += len(labels)
            losses.append(mean(total / len(batches)))
        seconds = time.perf_counter() - began

        evidence.round(
            number,
            samples=samples,
            seconds=seconds,
            losses=losses,
            metrics=metrics,
            model_in=model_in,
            model_out=fingerprint(model.state_dict()),
            forward_s=pace.take(),
        )
        if received is not None:
            send(model, metrics, steps=args.local_epoch * len(batches))
    dist.destroy_process_group()


def send(model: nn.Module, metrics: dict[str, float], steps: int) -> None:
    import nvflare.client as flare  # rank 0 alone loads NVFlare

    weights = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    meta = {"NUM_STEPS_CURRENT_ROUND": steps}
    flare.send(flare.FLModel(params=weights, metrics=metrics, meta=meta))


if __name__ == "__main__":
    main()
