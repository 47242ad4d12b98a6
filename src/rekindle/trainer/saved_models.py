# SPDX-License-Identifier: Apache-2.0
"""``python -m rekindle.trainer.saved_models``: reads saved models and trackers in the run's environment.

What cannot be loaded is recorded too, and ends nothing: the judge evaluates it.
"""

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from rekindle.host.files import ANY, digest_file
from rekindle.host.folders import NOT_THE_SERVERS

from .arrays import select_floating, sketch_model
from .evidence import Evidence
from .trackers import record_all
from .variables import WORKSPACE


def _numpy(path: Path) -> Any:
    import numpy as np  # noqa: PLC0415 - each format takes its own package, which other runs may lack

    loaded = np.load(path, allow_pickle=True)  # np.save of a dictionary makes an object of it
    if isinstance(loaded, np.ndarray):
        return loaded.tolist() if loaded.dtype == object else loaded
    return dict(loaded)


def _torch(path: Path) -> Any:
    if not zipfile.is_zipfile(path) and b"__fobs_type__" in path.read_bytes()[:100]:
        import_module("nvflare.app_common.decomposers.common_decomposers").register()
        return import_module("nvflare.fuel.utils.fobs").loadf(str(path)).params  # FedAvg without persistor
    import numpy as np  # noqa: PLC0415 - as above
    import torch  # noqa: PLC0415 - as above

    kinds = {type(np.dtype(code)) for code in np.typecodes["AllFloat"] + np.typecodes["AllInteger"] + "?"}
    made = [value.__reduce__()[0] for value in (np.empty(0), np.float64(0))]
    torch.serialization.add_safe_globals([np.ndarray, np.dtype, *kinds, *made])  # what SCAFFOLD saves beside
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # it has objects, as of torch.save(model); the job's own code ran here too
        loaded = torch.load(path, map_location="cpu", weights_only=False)
    named = loaded if isinstance(loaded, dict) else {}
    return named.get("model", named.get("state_dict", loaded))


class _Arrays(pickle.Pickler):
    """Finds the arrays and tensors in objects of any class, as an estimator or a list of them has."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.found: dict[str, Any] = {}

    def persistent_id(self, item: Any) -> str | None:
        name = str(len(self.found))
        leaves = select_floating(item) if getattr(item, "shape", ()) else {}
        structured = getattr(getattr(item, "dtype", None), "names", None) or ()  # as of the nodes of a tree
        leaves |= {field: item[field] for field in structured if item[field].dtype.kind == "f"}
        self.found |= {f"{name}/{field}": leaf for field, leaf in leaves.items()}
        return name if leaves else None


def find_arrays(loaded: Any) -> Any:
    """Return the floating-point arrays of what was saved: as it is, or those in objects of other classes."""
    if any(leaf.shape for leaf in select_floating(loaded).values()):
        return loaded
    arrays = _Arrays()
    arrays.dump(loaded)
    return arrays.found or loaded


def _keras(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return _hdf5(io.BytesIO(archive.read("model.weights.h5")))


def _hdf5(file: Path | io.BytesIO) -> Any:
    import h5py  # noqa: PLC0415 - as above

    found: dict[str, Any] = {}

    def keep(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("optimizer"):
            found[name] = item[()]

    with h5py.File(file, "r") as stream:
        stream.visititems(keep)
    return found


LOADERS: dict[str, Callable[[Path], Any]] = {
    **dict.fromkeys((".npy", ".npz"), _numpy),
    **dict.fromkeys((".pt", ".pth", ".ckpt", ".bin"), _torch),
    **dict.fromkeys((".joblib", ".pkl"), lambda path: import_module("joblib").load(path)),
    ".h5": _hdf5,
    ".keras": _keras,
    ".safetensors": lambda path: import_module("safetensors.torch").load_file(path),
}


def main() -> None:
    """Write a ModelEvent for each model below the folders of servers, and of apps, in REKINDLE_WORKSPACE."""
    evidence, run = Evidence("job"), Path(os.environ["REKINDLE_EVIDENCE"]).parent
    workspace = Path(os.environ[WORKSPACE])
    for path in sorted({*workspace.glob("*/server/**/*"), *workspace.glob("*/*/*/app_*/*")}):
        load = LOADERS.get(path.suffix)
        inside = path.relative_to(workspace).parts[2:]  # of a simulation and its member
        if load and path.is_file() and not path.is_symlink() and NOT_THE_SERVERS.isdisjoint(inside):
            name = path.relative_to(run).as_posix()
            try:
                evidence.model(name, sha256=digest_file(path, ANY), **sketch_model(find_arrays(load(path))))
            except Exception as error:
                evidence.model(name, error=f"{type(error).__name__}: {error}")
    record_all(workspace.parent)


if __name__ == "__main__":
    main()
