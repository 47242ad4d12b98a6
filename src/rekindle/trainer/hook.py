"""Patches for an example of NVFlare's, with no file of it changed: loaded first by each of its processes.

The driver's ``sitecustomize`` imports this. As modules of NVFlare and of data sets' loaders are imported,
functions in them are wrapped: every generated job gets our component at the server, the simulator works
below the run's folder, and loaders read stand-ins. Only the standard library is imported here.
"""

import atexit
import importlib.abc
import json
import logging.config
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain, count, islice
from pathlib import Path
from types import ModuleType
from typing import Any

from rekindle.host import folders

from . import components
from .data import DATA, STAND_INS
from .gloo import rest_at_exit
from .imports import note_at_end, noting_import_errors
from .participant import PARTICIPANT, WORKSPACE

Patch = Callable[[ModuleType], None]

_CHOSEN: list[str] = []
"""The folder in which the latest environment of a recipe was to simulate."""


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as Python does, and patches each right after its execution."""

    def __init__(self, patches: dict[str, Patch]) -> None:
        """Take the patches by module name."""
        self._patches = patches

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that is patched; None for any other."""
        patch = self._patches.get(name)
        spec = PathFinder.find_spec(name, path, target) if patch else None
        if patch is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            patch(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _witnessed(module: ModuleType) -> None:
    """Put our component into the configuration of every server, and of clients in swarm learning."""
    generate = module.FedJobConfig.generate_job_config
    clients = ("config_fed_client.json", "SwarmClientController", components.SWARM)

    def generated(self: Any, job_root: str) -> None:
        generate(self, job_root)
        for file, needed, component in (("config_fed_server.json", "", components.TASKS), clients):
            for path in Path(job_root, self.job_name).rglob(file):
                text = path.read_text(encoding="utf-8")
                if needed in text:
                    config = components.added_to(json.loads(text), component)
                    path.write_text(json.dumps(config, indent=2), encoding="utf-8")

    module.FedJobConfig.generate_job_config = generated


def _simulated_here(module: ModuleType) -> None:
    """Make the simulator work below the run's folder, and not where the example chooses.

    Each simulation of one run has its own folder and name, as NVFlare empties an existing one, and its
    server's evidence has its own file. Its logs are NVFlare's by default, as they are evidence. What it
    leaves is also found where the example chose, until job.py ends.
    """
    simulate = module.FedJob.simulator_run

    def simulated(self: Any, workspace: str, *arguments: Any, **named: Any) -> Any:
        root = Path(os.environ[WORKSPACE])
        earlier = {path.name for path in root.glob("*/")}
        names = chain([self.name], (f"{self.name}-{number}" for number in count(2)))
        self.name = next(name for name in list(islice(names, len(earlier) + 1)) if name not in earlier)
        if earlier:
            os.environ["REKINDLE_SERVER"] = Path(folders.server_events(self.name)).stem
        of_recipe = _CHOSEN and Path(workspace).parent == root
        chosen = Path(*_CHOSEN, Path(workspace).name) if of_recipe else Path(workspace)
        chosen = chosen.parent.resolve() / chosen.name
        if not chosen.is_relative_to(root.resolve()):
            _link(chosen, root / self.name)
        return simulate(self, str(root / self.name), *arguments, **{**named, "log_config": None})

    module.FedJob.simulator_run = simulated


def _link(chosen: Path, made: Path) -> None:
    """Have ``chosen`` lead to ``made`` until this process ends, unless something else is there."""
    missing = [folder for folder in chosen.parents if not folder.exists()]

    def remove() -> None:
        with suppress(OSError):
            chosen.unlink()
            for folder in missing:
                folder.rmdir()

    with suppress(OSError):
        chosen.parent.mkdir(parents=True, exist_ok=True)
        earlier = chosen.is_symlink() and chosen.readlink().parent == made.parent
        if earlier or not chosen.exists():  # a job that was killed left one
            chosen.unlink(missing_ok=True)
        chosen.symlink_to(made)
        atexit.register(remove)


def _logs_apart(module: ModuleType) -> None:
    """Keep a client's logs, which are evidence, from what a script in it does to Python's root logger."""
    run, configure = module.TaskScriptRunner.run, logging.config.dictConfig

    def kept(self: Any) -> Any:
        with noting_import_errors():
            return _kept(self)

    def _kept(self: Any) -> Any:
        root = logging.getLogger()
        for own in map(logging.getLogger, ("nvflare", "__main__")):
            own.handlers, own.propagate = [*root.handlers], False
            own.setLevel(root.level)
        return run(self)

    module.TaskScriptRunner.run = kept
    logging.config.dictConfig = lambda config: configure({**config, "disable_existing_loggers": False})


def _federated(module: ModuleType) -> None:
    """Run a job in the federation that this host takes part in, instead of the simulator."""
    from .federation import simulator_run  # noqa: PLC0415 - only runs in federations need it

    module.FedJob.simulator_run = simulator_run


def _results_here(module: ModuleType) -> None:
    """Make a recipe's environment read results from where the simulator works."""
    make = module.SimEnv.__init__

    def made(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        _CHOSEN[:] = [self.workspace_root]
        self.workspace_root = os.environ[WORKSPACE]

    module.SimEnv.__init__ = made


def _allowed(module: Any) -> None:
    """Allow our components at a server of NVFlare 2.9, also in jobs without their own code."""
    module.DEFAULT_CLASS_ALLOW_LIST += components.ALL


ALWAYS: dict[str, Patch] = {"nvflare.app_common.default_component_policy": _allowed}
PATCHES: dict[str, Patch] = {
    "nvflare.job_config.fed_job_config": _witnessed,
    "nvflare.job_config.api": _simulated_here,
    "nvflare.recipe.sim_env": _results_here,
    "nvflare.app_common.executors.task_script_runner": _logs_apart,
    "torch.distributed.distributed_c10d": lambda module: rest_at_exit(),
}


def install() -> None:
    """Patch modules as they are imported: in a federation the simulator, in an example all else."""
    note_at_end()
    federated = {"nvflare.job_config.api": _federated} if PARTICIPANT in os.environ else {}
    others = {**PATCHES, **STAND_INS} if os.environ.get(DATA) else {}
    sys.meta_path.insert(0, Finder({**ALWAYS, **others, **federated}))
