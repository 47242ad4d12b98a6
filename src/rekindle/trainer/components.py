"""Our components of NVFlare's server, by their names: importing one takes NVFlare."""

from typing import Any

TASKS, BOUNDS = "rekindle.trainer.tasks.TaskWitness", "rekindle.trainer.bounds.Bounds"
_IDS = {TASKS: "rekindle_task_witness", BOUNDS: "rekindle_bounds"}
ALL = tuple(_IDS)


def added_to(config: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a server's configuration with the component of that ``path`` among its own."""
    component = {"id": _IDS[path], "path": path, "args": {}}
    return {**config, "components": [*config.get("components", []), component]}
