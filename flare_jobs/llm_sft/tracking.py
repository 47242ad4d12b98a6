"""Experiment tracking: what each tracker needs in the recipe, and what it wrote down."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import add_experiment_tracking

from rekindle.trainer import Sites
from rekindle.trainer.waits import job_of

TRACKERS = ("tensorboard", "mlflow", "mlflow_client", "wandb")
Scalar = tuple[str, str, int, float]
"""Site, tag, step and value."""

SERVER_STORE = Path("mlruns")
WANDB = Path("wandb")


def track(recipe: FedAvgRecipe, sites: Sites, trackers: list[str], project: str) -> None:
    """Give the recipe its trackers: at the server, and MLflow at every client too if asked."""
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # mlflow 3.17 writes no folder of files without
    names = {"experiment_name": project, "run_name": project, "experiment_tags": {}, "run_tags": {}}
    if "tensorboard" in trackers:
        add_experiment_tracking(recipe, "tensorboard")
    if "mlflow" in trackers:
        store = SERVER_STORE.absolute().as_uri()
        add_experiment_tracking(recipe, "mlflow", {"tracking_uri": store, "kw_args": names})
    if "mlflow_client" in trackers:
        from mlflow_client import ClientMLflow

        recipe.add_client_file("mlflow_client.py")
        for name in sites.names:
            receiver = ClientMLflow(kw_args=names, events=["fed.analytix_log_stats"])
            job_of(recipe).to(receiver, name, id="client_receiver")
    if "wandb" in trackers:
        WANDB.mkdir()
        os.environ["WANDB__SERVICE_WAIT"] = "300"  # s; its service does not start within 30 on a busy host
        run = {"project": project, "name": project, "group": project, "job_type": "train"}
        where = {"mode": "offline", "wandb_args": {**run, "dir": str(WANDB.absolute())}}
        add_experiment_tracking(recipe, "wandb", where)


def read_back(sites: Sites, trackers: list[str]) -> Iterator[tuple[str, list[Scalar]]]:
    """Yield each tracker with all that it wrote down."""
    server = Path("workspace/llm_sft/server/simulate_job")
    client_stores = [Path(f"workspace/llm_sft/{name}/simulate_job/mlflow") for name in sites.names]
    for tracker in trackers:
        if tracker == "tensorboard":
            yield tracker, _tensorboard(server / "tb_events")
        elif tracker == "mlflow":
            yield tracker, _mlflow(SERVER_STORE, sites.names)
        elif tracker == "mlflow_client":
            yield tracker, [scalar for store in client_stores for scalar in _mlflow(store, sites.names)]
        else:
            yield tracker, _wandb(WANDB, sites.names)


def _tensorboard(folder: Path) -> list[Scalar]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: list[Scalar] = []
    for path in sorted(folder.iterdir()):
        events = EventAccumulator(str(path), size_guidance={"scalars": 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found += [(path.name, tag, event.step, event.value) for event in events.Scalars(tag)]
    return found


def _mlflow(store: Path, sites: list[str]) -> list[Scalar]:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=store.absolute().as_uri())
    found: list[Scalar] = []
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            site = _site(run.info.run_name, sites)
            for tag in run.data.metrics:
                history = client.get_metric_history(run.info.run_id, tag)
                found += [(site, tag, metric.step, metric.value) for metric in history]
    return found


def _wandb(folder: Path, sites: list[str]) -> list[Scalar]:
    from wandb.proto.wandb_internal_pb2 import Record

    found: list[Scalar] = []
    for path in sorted(folder.glob("**/offline-run-*/run-*.wandb")):
        site = ""
        for record in map(Record.FromString, _leveldb_records(path.read_bytes())):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                site = _site(record.run.display_name, sites)
            elif kind == "history":
                values = {
                    ".".join(item.nested_key) or item.key: item.value_json for item in record.history.item
                }
                step = record.history.step.num
                own = {tag: text for tag, text in values.items() if not tag.startswith("_")}
                found += [(site, tag, step, float(json.loads(text))) for tag, text in own.items()]
    return found


def _leveldb_records(data: bytes) -> Iterator[bytes]:
    """Yield the records of W&B's offline file: LevelDB's log format after its own seven bytes.

    wandb 0.31 has no reader of its own files. A record is complete (1) or a first (2), middle (3) and
    last (4) part; each part stands behind its CRC, length and kind, and none crosses a block of 32 KiB.
    """
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        parts = (b"" if kind in {1, 2} else parts) + data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in {1, 4}:
            yield parts


def _site(run: str, sites: list[str]) -> str:
    """Return the site that NVFlare named a run after."""
    return next((name for name in sites if run.startswith(f"{name}-")), run)
