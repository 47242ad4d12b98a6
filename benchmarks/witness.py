# SPDX-License-Identifier: Apache-2.0
"""What our component at NVFlare's server takes for a result of the size of GPT-2, beside sending that result.

    ENVIRONMENT/bin/python benchmarks/witness.py

The environment is torch's, as env.json has it. Seconds of CPU of this process: what the component computes of
the second result of a round, and what NVFlare needs to pack and unpack the same arrays. Medians of three.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from nvflare.app_common.decomposers import numpy_decomposers
from nvflare.fuel.utils import fobs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
from rekindle.trainer.arrays import sketch_weights, walk_leaves
from rekindle.trainer.comparison import compare_result

REPEATS = 3
SHAPES = [(50257, 768), (1024, 768)] + 12 * [(768, 2304), (768, 768), (768, 3072), (3072, 768)]
"""Of GPT-2 with 124 million parameters."""


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds of CPU that ``work`` takes."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    """Print both, and their ratio."""
    numpy_decomposers.register()
    chance = np.random.default_rng(0)
    sent = {str(number): chance.standard_normal(shape, np.float32) for number, shape in enumerate(SHAPES)}
    got, other = (
        {name: array + np.float32(by) * sent["1"].max() for name, array in sent.items()}
        for by in (1e-3, 2e-3)
    )
    leaves, others = dict(walk_leaves(sent)), dict(walk_leaves(other))

    def see() -> None:
        compare_result(leaves, got, others)
        sketch_weights(got)
        sketch_weights(sent)

    pairs = [(timed(see), timed(lambda: fobs.loads(fobs.dumps(got)))) for _ in range(REPEATS)]
    seen, packed = (median(column) for column in zip(*pairs, strict=True))
    values = sum(array.size for array in sent.values())
    print(f"{values / 1e6:.0f} million values: seen {seen:.2f} s, packed {packed:.2f} s, {seen / packed:.2f}")


if __name__ == "__main__":
    main()
