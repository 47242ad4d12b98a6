# SPDX-License-Identifier: Apache-2.0
"""Patches of a federation's processes beside `rekindle.trainer.hook`'s: a job is submitted, not simulated."""

from types import ModuleType
from typing import Any

from rekindle.trainer.hook import add_to_configurations


def _submit_jobs(module: ModuleType) -> None:
    from .server import run_job  # noqa: PLC0415 - only a job.py needs it

    module.FedJob.simulator_run = run_job


def _add_bounds(configurator: Any) -> None:
    from rekindle.trainer.witnesses import add_component  # noqa: PLC0415 - it takes NVFlare

    from .bounds import Bounds  # noqa: PLC0415 - as above

    add_component(configurator, "rekindle_bounds", Bounds())


PATCHES = {
    "nvflare.job_config.api": _submit_jobs,
    "nvflare.private.fed.server.server_json_config": add_to_configurations("Server", _add_bounds),
}
