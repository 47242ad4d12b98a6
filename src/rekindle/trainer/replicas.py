# SPDX-License-Identifier: Apache-2.0
"""For trainers of TensorFlow: the strategy over a site's devices, rank 0's values and weights, the pace.

A site of one node has MirroredStrategy. The nodes of one over several, which TF_CONFIG lists,
are the workers of MultiWorkerMirroredStrategy; the first has rank 0. Values between them go by CPU, so that
a node that waits for NVFlare keeps no GPU busy.
"""

import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .ranks import GLOBAL_RANK, NODES

_GROUP = 1 << 30
"""Key of the nodes as a group; the strategy counts its own from 1."""
_CPU = "/device:CPU:0"
_turns = itertools.count(1)


def join_replicas(replicas: int) -> tuple[Any, str]:
    """Take this node's GPUs, growing their memory, or else its CPU, before their first use.

    Several nodes have one replica on each CPU, as the strategy does; one node has ``replicas``.
    TensorFlow then logs the algorithm that it sums by, which NVFlare 2.9 would leave out.

    Args:
        replicas: of the site, on all of its nodes.

    Returns:
        The strategy, and what sums over it: a class of tf.distribute; over nodes ``NCCL`` or ``RING`` (gRPC).

    Raises:
        ValueError: the devices are not as many.
    """
    tf.get_logger().setLevel("INFO")
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    default = "NcclAllReduce" if gpus else "ReductionToOneDevice"
    operations = os.environ.get("REKINDLE_CROSS_DEVICE_OPS") or default
    if NODES > 1:
        operations = "NCCL" if operations == "NcclAllReduce" else "RING"
        kind = tf.distribute.experimental.CommunicationImplementation[operations]
        options = tf.distribute.experimental.CommunicationOptions(implementation=kind)
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    else:
        if not gpus:
            cpu = tf.config.list_physical_devices("CPU")[0]
            one = tf.config.LogicalDeviceConfiguration()
            tf.config.set_logical_device_configuration(cpu, [one] * replicas)
        names = [device.name for device in tf.config.list_logical_devices("GPU" if gpus else "CPU")]
        strategy = tf.distribute.MirroredStrategy(names, getattr(tf.distribute, operations)())
    if strategy.num_replicas_in_sync != replicas:
        raise ValueError(f"{strategy.num_replicas_in_sync} devices are there for {replicas} replicas.")
    return strategy, operations


def list_devices(strategy: Any) -> list[str]:
    """Return the names of this node's devices, such as ``/device:GPU:0``, by local rank."""
    return [f"/device:{name.partition('/device:')[2]}" for name in strategy.extended.worker_devices]


def broadcast_number(value: int | None) -> int | None:
    """Return rank 0's ``value``, which is not negative, on every node."""
    number = int(_first(tf.constant(-1 if value is None else value, tf.int64)))
    return None if number < 0 else number


def load_keras_weights(model: Any, received: Any) -> None:
    """Give a Keras model, on every node, rank 0's weights: of the FLModel received, or else its own."""
    for layer in model.layers:
        weights = layer.get_weights()
        if weights and received is not None:  # a layer without any is not in it
            weights = received.params[layer.name]
        layer.set_weights([_first(tf.constant(weight)).numpy() for weight in weights])


def time_forward(forward: Callable[..., Any], *inputs: Any) -> tuple[Any, Any]:
    """Do a replica's forward pass, in which it waits for no other, and see how long it takes on its device.

    Nothing is timed where the site is on one machine.

    Args:
        forward: from tensors to one or several, without collectives.
        inputs: its tensors, computed in each step.

    Returns:
        What ``forward`` returns, and seconds [], float64, from when all inputs are computed to when that is;
        0 where nothing is timed.
    """
    if NODES == 1:
        return forward(*inputs), tf.zeros([], tf.float64)
    began = _now(inputs)
    with tf.control_dependencies([began]):
        outputs = forward(*inputs)
    return outputs, _now(outputs) - began


def _now(tensors: Any) -> Any:
    """Return the clock's seconds [] as these tensors are computed.

    A value of each goes to the CPU, which waits for the GPU's kernels as a control dependency does not. The
    clock counts as stateless: TensorFlow has what is stateful go one by one, and so a node's replicas.
    """
    values = [tf.reshape(tensor, [-1])[:1] for tensor in tf.nest.flatten(tensors)]
    with tf.device(_CPU):
        return tf.numpy_function(lambda *_: time.perf_counter(), values, tf.float64, stateful=False)


def meet_nodes() -> None:
    """Wait until every node has come here: none trains on while the site's result is sent."""
    if NODES > 1:
        with tf.device(_CPU):
            tf.raw_ops.CollectiveReduceV2(
                input=tf.constant(0), ordering_token=[], merge_op="Add", final_op="Id", **_turn()
            )


def _first(value: Any) -> Any:
    """Return the first node's ``value``, of one shape and type on all."""
    if NODES == 1:
        return value
    with tf.device(_CPU):
        if GLOBAL_RANK == 0:
            return tf.raw_ops.CollectiveBcastSendV2(input=value, **_turn())
        return tf.raw_ops.CollectiveBcastRecvV2(shape=value.shape, T=value.dtype, **_turn())


def _turn() -> dict[str, int]:
    return {"group_size": NODES, "group_key": _GROUP, "instance_key": next(_turns)}
