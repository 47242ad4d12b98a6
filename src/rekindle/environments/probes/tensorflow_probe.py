# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: the build's versions, a product on each GPU compared with the CPU, an all-reduce over all.

    tensorflow_probe.py NcclAllReduce|HierarchicalCopyAllReduce|ReductionToOneDevice

Without GPUs the same over two logical CPU devices.
"""

import json
import os
import sys
from typing import Any

os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"

import numpy as np
import tensorflow as tf

TOLERANCE = 1e-3
"""Relative error of a float32 product; TF32 stays below it."""


def probe_gpu(physical: Any, logical: Any) -> dict[str, Any]:
    """Return a GPU with the relative error of a product on it."""
    details = tf.config.experimental.get_device_details(physical)
    capability = details.get("compute_capability")
    return {
        "name": details.get("device_name"),
        "compute_capability": ".".join(map(str, capability)) if capability else None,
        "matmul_error": _matmul_error(logical.name),
    }


def _matmul_error(device: str) -> float:
    a, b = np.random.default_rng(0).standard_normal((2, 256, 256)).astype("float32")
    expected = a.astype("float64") @ b.astype("float64")
    with tf.device(device):
        product = tf.linalg.matmul(a, b).numpy()
    return float(np.linalg.norm(product - expected) / np.linalg.norm(expected))


def check_all_reduce(devices: list[str], operations: str) -> None:
    """Sum over all replicas and check it."""
    strategy = tf.distribute.MirroredStrategy(devices, getattr(tf.distribute, operations)())
    count = strategy.num_replicas_in_sync

    @tf.function
    def step() -> Any:
        def replica() -> Any:
            context = tf.distribute.get_replica_context()
            mine = tf.fill([1 << 20], tf.cast(context.replica_id_in_sync_group + 1, tf.float32))
            return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        return strategy.run(replica)

    for value in strategy.experimental_local_results(step()):
        if not bool(tf.reduce_all(value == count * (count + 1) / 2)):
            sys.exit(f"a wrong sum over {count} replicas with {operations}")


def main() -> None:
    """Print the report; an exception is the probe's failure."""
    physical = tf.config.list_physical_devices("GPU")
    if not physical:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    logical = tf.config.list_logical_devices("GPU" if physical else "CPU")
    seen = [probe_gpu(*pair) for pair in zip(physical, logical, strict=True)] if physical else []
    wrong = [found for found in seen if not found["matmul_error"] < TOLERANCE]
    if wrong:
        sys.exit(f"a product on {wrong[0]['name']} is off by {wrong[0]['matmul_error']:.2g} (relative)")
    print(json.dumps({"gpus": seen}), flush=True)
    check_all_reduce([device.name for device in logical], sys.argv[1])
    information = tf.sysconfig.get_build_info()
    build = {"tensorflow": tf.__version__, "keras": tf.keras.__version__}
    build |= {name: information[name] for name in ("cuda_version", "cudnn_version") if name in information}
    build["arch_list"] = list(information.get("cuda_compute_capabilities", []))
    collective = {"backend": sys.argv[1], "ranks": len(logical)}
    print(json.dumps({"build": build, "gpus": seen, "collective": collective}))


if __name__ == "__main__":
    main()
