# SPDX-License-Identifier: Apache-2.0
"""Patches for a job, with no file of it changed: loaded first by each of its processes.

The driver's ``sitecustomize`` imports this. As modules of NVFlare and of data sets' loaders are imported,
functions in them are wrapped: every server runs our component, wherever its configuration comes from, the
simulator works below the run's folder, NVFlare's own waits are short, and loaders read stand-ins. It imports
the standard library alone.
"""

import importlib.abc
import json
import logging.config
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain, count
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from rekindle.host import folders
from rekindle.host.rooms import load_room

from . import links
from .data import STAND_INS
from .gloo import wait_at_exit
from .imports import watch_exit, watch_imports
from .loads import Received, watch_loads, watch_receipts, watch_sends
from .starts import Starts, watch_steps
from .variables import MEMBER, SERVER, WORKSPACE
from .waits import hasten_end, hasten_looks, hasten_pipes, join_agents

Patch = Callable[[ModuleType], None]
_NVFLARES = ("nvflare", "__main__")
"""The loggers of NVFlare's client."""
_STARTS = Starts()
_GIVEN = "local"
"""Folder of a simulation's workspace with settings that NVFlare reads, and keeps as it empties the rest."""


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as Python does, and patches each right after its execution."""

    def __init__(self, *tables: Mapping[str, Patch]) -> None:
        """Take the patches by module name; those of the first table come first."""
        self._tables = tables

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is patched; None for any other."""
        patches = [table[name] for table in self._tables if name in table]
        spec = PathFinder.find_spec(name, path, target) if patches else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            for patch in patches:
                patch(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def add_to_configurations(role: Literal["Server", "Client"], add: Callable[[Any], None]) -> Patch:
    """Return what has ``add`` complete each configuration of NVFlare's server or clients before its use."""

    def patch(module: ModuleType) -> None:
        configurator = getattr(module, f"{role}JsonConfigurator")
        finalize = configurator.finalize_config

        def finalized(self: Any, *arguments: Any) -> None:
            add(self)
            finalize(self, *arguments)

        configurator.finalize_config = finalized

    return patch


def _add_witnesses(configurator: Any, role: str) -> None:
    from .witnesses import ADDERS  # noqa: PLC0415 - it takes NVFlare

    ADDERS[role](configurator)


def _simulate_here(module: ModuleType) -> None:
    """Make the simulator work below the run's folder, and not where the job chooses.

    Each simulation of one run has its own folder there, as NVFlare empties an existing one, and its server's
    evidence has its own file. Settings given for it, such as the classes that NVFlare 2.9's SimEnv allows, go
    along. Its logs are NVFlare's by default, as they are evidence. What it leaves is also found where the job
    chose, until the job ends.
    """
    set_up, run = module.SimulatorRunner.setup, module.SimulatorRunner.run

    def setup(self: Any) -> Any:
        root, chosen = Path(os.environ[WORKSPACE]), Path(self.workspace)
        name = chosen.name if chosen.parent == root else Path(self.job_folder).resolve().stem
        earlier = {
            path.name for path in root.glob("*/") if [part.name for part in path.iterdir()] != [_GIVEN]
        }
        names = chain([name], (f"{name}-{number}" for number in count(2)))
        made = root / next(name for name in names if name not in earlier)
        if earlier:
            os.environ[SERVER] = Path(folders.name_server_events(made.name)).stem
        if made != chosen.absolute() and (chosen / _GIVEN).is_dir():
            shutil.copytree(chosen / _GIVEN, made / _GIVEN, dirs_exist_ok=True)
        links.link_chosen(chosen, made)
        self.workspace, self.log_config = str(made), "concise"
        return set_up(self)

    def ran(self: Any) -> Any:
        try:
            return run(self)
        finally:
            links.replace_link(Path(self.workspace))

    module.SimulatorRunner.setup, module.SimulatorRunner.run = setup, ran


def _logs_apart(module: ModuleType) -> None:
    """Keep a client's logs, which are evidence, from what a script in it does to Python's loggers."""
    run, configure = module.TaskScriptRunner.run, logging.config.dictConfig

    def kept(self: Any) -> Any:
        root = logging.getLogger()
        for own in map(logging.getLogger, _NVFLARES):
            own.handlers, own.propagate = [*root.handlers], False
            own.setLevel(root.level)
            own.setLevel = lambda level: None  # type: ignore[method-assign]  # scripts quiet what they did not write
        logging.disable = lambda level=0: None
        with watch_imports():
            return run(self)

    module.TaskScriptRunner.run = kept
    logging.config.dictConfig = lambda config: configure({**config, "disable_existing_loggers": False})


def _join_and_watch(module: ModuleType) -> None:
    join_agents(module)
    received = Received()
    watch_receipts(module, _STARTS.receive, received.receive)  # the last sees who reads a model
    watch_sends(module, _STARTS.send, received.send)


def _simulate_here_and_sooner(module: ModuleType) -> None:
    _simulate_here(module)
    hasten_looks(module)
    hasten_end(module)


PATCHES: dict[str, Patch] = {
    "nvflare.private.fed.server.server_json_config": add_to_configurations(
        "Server", partial(_add_witnesses, role="Server")
    ),
    "nvflare.private.fed.client.client_json_config": add_to_configurations(
        "Client", partial(_add_witnesses, role="Client")
    ),
    "nvflare.private.fed.app.simulator.simulator_runner": _simulate_here_and_sooner,
    "nvflare.app_common.executors.task_script_runner": _logs_apart,
    "nvflare.fuel.utils.pipe.pipe_handler": hasten_pipes,
    "nvflare.fuel.f3.streaming.download_service": hasten_looks,
    "nvflare.client.api": _join_and_watch,
    "torch.nn.modules.module": watch_loads,
    "torch.optim.optimizer": partial(watch_steps, starts=_STARTS),
    "torch.distributed.distributed_c10d": lambda module: wait_at_exit(),
}


def install_hook() -> None:
    """Patch modules as they are imported; a member of a run of several hosts has patches of its room too."""
    watch_exit()
    own = load_room(json.loads(os.environ[MEMBER])["room"], "hook").PATCHES if MEMBER in os.environ else {}
    sys.meta_path.insert(0, Finder(own, PATCHES, STAND_INS))
