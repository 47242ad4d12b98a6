"""Lets the loaders of data sets take a stand-in that lies in their own format in the run's folder.

They would check its digest against the real one's, and download that. A folder named in REKINDLE_DATA has a
folder for each data set, with the same names as there is for them in ``rekindle.trainer.data``.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

DATA = "REKINDLE_DATA"
"""Variable with the folder of the stand-ins; the loaders are as they were where it is not set."""


def _cifar(module: Any) -> None:
    """Read CIFAR-10 from the stand-in, whatever root is asked for."""
    make = module.CIFAR10.__init__

    def made(self: Any, root: Any, *arguments: Any, **named: Any) -> None:
        Path(root).mkdir(parents=True, exist_ok=True)  # a download would, and models may be kept beside it
        make(self, _folder("cifar10"), *arguments, **named)

    def checked(path: Any, md5: str | None = None) -> bool:
        return Path(path).is_file()

    if _folder("cifar10"):
        module.CIFAR10.__init__ = made
        module.check_integrity = checked


def _mnist(module: Any) -> None:
    """Read Keras' MNIST from the stand-in."""
    folder = _folder("mnist")

    def load_data(path: str = "mnist.npz") -> Any:
        import numpy as np  # noqa: PLC0415 - Keras has it loaded

        with np.load(Path(str(folder), path)) as arrays:
            return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])

    if folder:
        module.load_data = load_data


def _hub(module: Any) -> None:
    """Load a data set of the Hub's from the stand-in."""
    load = module.load_dataset

    def loaded(path: str, *arguments: Any, **named: Any) -> Any:
        return load(str(_folder(path) or path), *arguments, **named)

    module.load_dataset = loaded


def _keras_cifar(module: Any) -> None:
    """Read Keras' CIFAR-10 from the stand-in, which has fewer images than Keras makes room for."""
    folder = _folder("cifar10")

    def part(name: str) -> Any:
        import numpy as np  # noqa: PLC0415 - as above

        with Path(str(folder), "cifar-10-batches-py", name).open("rb") as stream:
            batch = pickle.load(stream)
        images = batch["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return images, np.reshape(batch["labels"], (-1, 1)).astype(np.uint8)

    def load_data() -> Any:
        import numpy as np  # noqa: PLC0415 - as above

        batches = zip(*(part(f"data_batch_{number}") for number in range(1, 6)), strict=True)
        images, labels = map(np.concatenate, batches)
        return (images, labels), part("test_batch")

    if folder:
        module.load_data = load_data


def _folder(name: str) -> Path | None:
    """Return the folder of a stand-in; None if the run has none."""
    folder = Path(os.environ.get(DATA) or "/nonexistent", name)
    return folder if folder.is_dir() else None


STAND_INS: dict[str, Callable[[ModuleType], None]] = {
    "torchvision.datasets.cifar": _cifar,
    "keras.src.datasets.cifar10": _keras_cifar,
    "keras.src.datasets.mnist": _mnist,
    "datasets.load": _hub,
}
