# SPDX-License-Identifier: Apache-2.0
"""What experiment trackers kept of a run, read back by their own packages in the run's environment."""

import json
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .evidence import Evidence
from .variables import WORKSPACE

Scalar = tuple[str, str, int, float]
"""Name of the tracker's run, tag, step and value."""
_BLOCK = 1 << 15


def record_all(folder: Path) -> None:
    """Write a TrackingEvent for each tracker's stores below ``folder``, and for each that is broken."""
    evidence, found = Evidence("job"), dict[tuple[str, str], list[Scalar]]()
    for tracker, (find, read) in TRACKERS.items():
        for store in find(folder):
            try:
                found.setdefault((tracker, _site(store)), []).extend(read(store))
            except Exception as error:
                evidence.tracking(
                    tracker, _site(store), [], error=f"{store.name}: {type(error).__name__}: {error}"
                )
    for (tracker, site), scalars in found.items():
        evidence.tracking(tracker, site, scalars)


def _site(store: Path) -> str:
    """Return the site in whose folder a store lies; empty for the server's and for any other."""
    root = Path(os.environ[WORKSPACE])
    parts = store.relative_to(root).parts if store.is_relative_to(root) else ()
    in_site = len(parts) > 2 and parts[1] != "server" and (root / parts[0] / parts[1] / "log.txt").exists()
    return parts[1] if in_site else ""


def _tensorboard_folders(folder: Path) -> list[Path]:
    return sorted({path.parent for path in folder.rglob("*tfevents*") if path.is_file()})


def _read_tensorboard(folder: Path) -> Iterator[Scalar]:
    from tensorboard.backend.event_processing.event_accumulator import (  # noqa: PLC0415
        STORE_EVERYTHING_SIZE_GUIDANCE,
        EventAccumulator,
    )
    from tensorboard.util.tensor_util import make_ndarray  # noqa: PLC0415 - each tracker takes its own package

    events = EventAccumulator(str(folder), size_guidance=STORE_EVERYTHING_SIZE_GUIDANCE)
    events.Reload()
    for tag in events.Tags()["scalars"]:
        for event in events.Scalars(tag):
            yield folder.name, tag, event.step, event.value
    for tag in events.Tags()["tensors"]:
        for event in events.Tensors(tag):
            with suppress(TypeError, ValueError):  # a text, or a figure of several numbers
                yield folder.name, tag, event.step, float(make_ndarray(event.tensor_proto))


def _mlflow_stores(folder: Path) -> list[Path]:
    files = {path.parent for path in folder.rglob(".trash") if path.is_dir()}
    return sorted({*files, *folder.rglob("*.db")})


def _read_mlflow(store: Path) -> Iterator[Scalar]:
    from mlflow.tracking import MlflowClient  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory() as copied:  # a client upgrades a database that it opens
        address = store.absolute().as_uri()
        if store.is_file():
            if store.read_bytes()[:15] != b"SQLite format 3":
                return
            address = f"sqlite:///{shutil.copy(store, copied)}"
        client = MlflowClient(tracking_uri=address)
        for experiment in client.search_experiments():
            for run in client.search_runs([experiment.experiment_id], max_results=1000):
                for tag in run.data.metrics:
                    for metric in client.get_metric_history(run.info.run_id, tag):
                        yield run.info.run_name, tag, metric.step, metric.value


def _wandb_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("run-*.wandb") if path.is_file())


def _read_wandb(path: Path) -> Iterator[Scalar]:
    from wandb.proto.wandb_internal_pb2 import Record  # noqa: PLC0415 - as above

    run = ""
    for record in map(Record.FromString, _leveldb_records(path.read_bytes())):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run = record.run.display_name
        elif kind == "history":
            items = record.history.item
            values = {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}
            for tag, value in values.items():
                if not tag.startswith("_") and isinstance(value, (int, float)):
                    yield run, tag, int(values.get("_step", record.history.step.num)), float(value)


def _leveldb_records(data: bytes) -> Iterator[bytes]:
    """Yield the records of W&B's offline file: LevelDB's log format after its own seven bytes.

    wandb 0.31 has no reader of its own files. A record is complete (1) or a first (2), middle (3) and
    last (4) part; each part stands behind its CRC, length and kind, and none crosses a block of 32 KiB.
    """
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = _BLOCK - at % _BLOCK
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts = (b"" if kind in {1, 2} else parts) + data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in {1, 4}:
            yield parts


TRACKERS: dict[str, tuple[Callable[[Path], list[Path]], Callable[[Path], Any]]] = {
    "tensorboard": (_tensorboard_folders, _read_tensorboard),
    "mlflow": (_mlflow_stores, _read_mlflow),
    "wandb": (_wandb_files, _read_wandb),
}
"""What finds the stores of each tracker below a folder, and what reads one."""
