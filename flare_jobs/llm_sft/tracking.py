# SPDX-License-Identifier: Apache-2.0
"""Experiment tracking: what each tracker needs in the recipe."""

from __future__ import annotations

import os
from pathlib import Path

from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.job_config.api import FedJob
from nvflare.recipe import add_experiment_tracking

from rekindle.trainer import Sites

TRACKERS = ("tensorboard", "mlflow", "mlflow_client", "wandb")
SERVER_STORE = Path("mlruns")
WANDB = Path("wandb")


def job_of(recipe: FedAvgRecipe) -> FedJob:
    """Return a recipe's job, which is private since NVFlare 2.9."""
    return recipe.job if hasattr(recipe, "job") else recipe._job


def track(recipe: FedAvgRecipe, sites: Sites, trackers: list[str], project: str) -> None:
    """Give the recipe its trackers: at the server, and MLflow at every client too if asked."""
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
