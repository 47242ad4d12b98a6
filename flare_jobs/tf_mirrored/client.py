"""One site: one process, one MirroredStrategy over all GPUs that the site was given."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
import tensorflow as tf
from model import SmallCNN, accuracy, load, weights_of

from rekindle.trainer import SITE, Evidence, end_at_uncaught_exception, fingerprint, follow_rank_zero

DEFAULT_OPERATIONS = {True: "NcclAllReduce", False: "ReductionToOneDevice"}


def devices(replicas: int) -> list[str]:
    """Return the GPUs, growing their memory, or ``replicas`` logical CPU devices; before their first use."""
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if not gpus:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * replicas)
    return [device.name for device in tf.config.list_logical_devices("GPU" if gpus else "CPU")]


def main() -> None:
    evidence = Evidence(rank=0)
    end_at_uncaught_exception(evidence)
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", nargs="+", required=True)
    parser.add_argument("--replicas", type=int, required=True)
    parser.add_argument("--local_epoch", type=int, default=2)
    parser.add_argument("--batch_size", type=int, default=32, help="of one replica")
    args = parser.parse_args()

    names = devices(args.replicas)
    operations = os.environ.get("REKINDLE_CROSS_DEVICE_OPS") or DEFAULT_OPERATIONS["GPU" in names[0]]
    strategy = tf.distribute.MirroredStrategy(names, getattr(tf.distribute, operations)())
    replicas = strategy.num_replicas_in_sync
    given = [uuid for uuid in os.environ["CUDA_VISIBLE_DEVICES"].split(",") if uuid]
    evidences = [evidence, *(Evidence(rank=rank) for rank in range(1, replicas))]
    for rank, one in enumerate(evidences):
        uuid = given[rank] if given else None
        one.device(names[rank], uuid=uuid, name="GPU" if uuid else None, backend=operations)

    (images, labels), held_out = load()
    mine = slice(args.sites.index(SITE), None, len(args.sites))
    batch = args.batch_size * replicas
    data = tf.data.Dataset.from_tensor_slices((images[mine], labels[mine])).shuffle(len(images))
    batches = strategy.experimental_distribute_dataset(data.batch(batch, drop_remainder=True))
    with strategy.scope():
        model = SmallCNN()
        optimizer = tf.keras.optimizers.Adam(2e-3)
        loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def replica_step(x: Any, y: Any) -> tuple[Any, Any]:
        with tf.GradientTape() as tape:
            losses = loss_of(y, model(x, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=batch)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return tf.reduce_sum(losses), tf.shape(losses)[0]

    @tf.function
    def step(x: Any, y: Any) -> tuple[Any, Any]:
        sums, counts = strategy.run(replica_step, args=(x, y))
        return strategy.experimental_local_results(sums), strategy.experimental_local_results(counts)

    for number, received in follow_rank_zero(lambda value: value):
        with strategy.scope():
            for layer, weights in (received.params if received else {}).items():
                model.get_layer(layer).set_weights(weights)
        model_in = fingerprint(weights_of(model))
        metrics = {"accuracy": accuracy(model, *held_out)}
        losses, samples, steps, began = [], np.zeros(replicas, int), 0, time.perf_counter()
        for _ in range(args.local_epoch):
            total = 0.0
            before = samples.sum()
            for x, y in batches:
                sums, counts = step(x, y)
                total += float(sum(sums))
                samples += np.array([int(count) for count in counts])
                steps += 1
            losses.append(total / (samples.sum() - before))
        seconds = time.perf_counter() - began
        trained = weights_of(model)
        for rank, one in enumerate(evidences):
            one.round(
                number,
                samples=int(samples[rank]),
                seconds=seconds,
                losses=losses,
                metrics=metrics,
                model_in=model_in,
                model_out=fingerprint(trained),
            )
        if received is not None:
            send(trained, metrics, steps)


def send(weights: dict[str, list[np.ndarray]], metrics: dict[str, float], steps: int) -> None:
    import nvflare.client as flare

    meta = {"NUM_STEPS_CURRENT_ROUND": steps}
    flare.send(flare.FLModel(params=weights, metrics=metrics, meta=meta))


if __name__ == "__main__":
    main()
