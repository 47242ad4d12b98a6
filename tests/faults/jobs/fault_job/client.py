# SPDX-License-Identifier: Apache-2.0
"""The one rank of a site: gradient descent on points of its own."""

import time

import nvflare.client as flare
from model import accuracy, load, step

from rekindle.trainer import SITE, Evidence, fingerprint_weights, follow_rank_zero, install_guard

EPOCHS = 100


def main() -> None:
    evidence = Evidence()
    install_guard(evidence)
    points, labels = load(seed=int(SITE.rpartition("-")[2]))
    held_out = load(seed=0)
    evidence.device("cpu", uuid=None, name=None, backend="numpy")

    for number, received in follow_rank_zero(lambda current: current):
        weights = received.params["numpy_key"]
        model_in, metrics = fingerprint_weights(received.params), {"accuracy": accuracy(weights, *held_out)}
        losses, began = [], time.perf_counter()
        for _ in range(EPOCHS):
            weights, loss = step(weights, points, labels)
            losses.append(loss)
        seconds = time.perf_counter() - began
        evidence.round(
            number,
            samples=EPOCHS * len(points),
            seconds=seconds,
            losses=losses,
            metrics=metrics,
            model_in=model_in,
            model_out=fingerprint_weights({"numpy_key": weights}),
        )
        send(weights, metrics)


def send(weights, metrics):
    flare.send(flare.FLModel(params={"numpy_key": weights}, metrics=metrics))


if __name__ == "__main__":
    main()
