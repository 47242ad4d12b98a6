# SPDX-License-Identifier: Apache-2.0
"""One site, or a node of one: one process, which mirrors the model on all GPUs that it was given."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
import tensorflow as tf
from model import SmallCNN, accuracy, load, weights_of

from rekindle.trainer import (
    GLOBAL_RANK,
    SITE,
    Evidence,
    fingerprint_weights,
    follow_rank_zero,
    install_guard,
)
from rekindle.trainer.replicas import (
    broadcast_number,
    join_replicas,
    list_devices,
    load_keras_weights,
    meet_nodes,
    time_forward,
)


def main() -> None:
    install_guard(Evidence())
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", nargs="+", required=True)
    parser.add_argument("--replicas", type=int, required=True)
    parser.add_argument("--local_epoch", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=32, help="of one replica")
    args = parser.parse_args()

    strategy, backend = join_replicas(args.replicas)
    names = list_devices(strategy)
    given = [uuid for uuid in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if uuid]
    evidences = [Evidence(rank=GLOBAL_RANK + local) for local in range(len(names))]
    for local, evidence in enumerate(evidences):
        uuid = given[local] if given else None
        evidence.device(names[local], uuid=uuid, name="GPU" if uuid else None, backend=backend)

    (images, labels), held_out = load()
    mine = slice(args.sites.index(SITE), None, len(args.sites))
    batch = args.batch_size * args.replicas
    data = tf.data.Dataset.from_tensor_slices((images[mine], labels[mine])).shuffle(len(images), seed=0)
    batches = strategy.experimental_distribute_dataset(data.batch(batch, drop_remainder=True))
    with strategy.scope():
        model = SmallCNN()
        optimizer = tf.keras.optimizers.Adam(2e-3)
        loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def replica_step(x: Any, y: Any) -> tuple[Any, Any, Any]:
        with tf.GradientTape() as tape:
            losses, forward_s = time_forward(lambda x, y: loss_of(y, model(x, training=True)), x, y)
            loss = tf.nn.compute_average_loss(losses, global_batch_size=batch)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return tf.reduce_sum(losses), tf.shape(losses)[0], forward_s

    @tf.function
    def step(x: Any, y: Any) -> tuple[Any, Any, Any]:
        sums, *local = strategy.run(replica_step, args=(x, y))
        counts, forward_s = map(strategy.experimental_local_results, local)
        return strategy.reduce("SUM", sums, axis=None), counts, forward_s

    for number, received in follow_rank_zero(broadcast_number):
        with strategy.scope():
            load_keras_weights(model, received)
        model_in = fingerprint_weights(weights_of(model))
        metrics = {"accuracy": accuracy(model, *held_out)}
        samples, forward_s = np.zeros(len(names), int), np.zeros(len(names))
        losses, steps, began = [], 0, time.perf_counter()
        for _ in range(args.local_epoch):
            of_steps = []
            for x, y in batches:
                loss, counts, passes = step(x, y)
                of_steps.append(float(loss) / batch)
                samples += np.array([int(count) for count in counts])
                forward_s += np.array([float(seconds) for seconds in passes])
            losses.append(float(np.mean(of_steps)))
            steps += len(of_steps)
        seconds = time.perf_counter() - began
        meet_nodes()
        trained = weights_of(model)
        for local, evidence in enumerate(evidences):
            evidence.round(
                number,
                samples=int(samples[local]),
                seconds=seconds,
                losses=losses,
                metrics=metrics,
                model_in=model_in,
                model_out=fingerprint_weights(trained),
                forward_s=float(forward_s[local]) or None,
            )
        if received is not None:
            send(trained, metrics, steps)


def send(weights: dict[str, list[np.ndarray]], metrics: dict[str, float], steps: int) -> None:
    import nvflare.client as flare

    meta = {"NUM_STEPS_CURRENT_ROUND": steps}
    flare.send(flare.FLModel(params=weights, metrics=metrics, meta=meta))


if __name__ == "__main__":
    main()
