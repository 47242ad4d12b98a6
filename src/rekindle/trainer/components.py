"""Our components of NVFlare's server and clients, by their names: importing one takes NVFlare."""

from typing import Any

TASKS, BOUNDS = "rekindle.trainer.tasks.TaskWitness", "rekindle.trainer.bounds.Bounds"
SWARM = "rekindle.trainer.swarm.SwarmWitness"
_IDS = {TASKS: "rekindle_task_witness", BOUNDS: "rekindle_bounds", SWARM: "rekindle_swarm_witness"}
ALL = tuple(_IDS)


def added_to(config: dict[str, Any], path: str) -> dict[str, Any]:
    """Return a server's or client's configuration with the component of that ``path`` among its own."""
    component = {"id": _IDS[path], "path": path, "args": {}}
    return {**config, "components": [*config.get("components", []), component]}
