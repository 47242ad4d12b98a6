# SPDX-License-Identifier: Apache-2.0
"""Our components beside those that NVFlare built, and what it built those from, in whatever format that is.

For the processes of NVFlare's server and clients, which have NVFlare loaded already.
"""

from typing import Any

from .evidence import Evidence, name_server
from .tasks import TaskWitness
from .waits import hasten_client, hasten_server

_LONGEST = 1_000
"""Of a list or a text in a configuration: longer ones are weights or code, which are not recorded."""


def add_to_server(configurator: Any) -> None:
    """Add the witness to a server's components."""
    add_component(configurator, "rekindle_task_witness", TaskWitness(configurator.components))
    hasten_server(configurator)
    workflows = [flow.controller for flow in configurator.workflows]
    Evidence(name_server()).configuration("server", _described(configurator, workflows))


def add_to_client(configurator: Any) -> None:
    """Add witnesses to a client's components: of swarm learning, where its site may aggregate; of filters."""
    executors = {type(entry.executor).__name__ for entry in configurator.executors}
    if "SwarmClientController" in executors:
        from .swarm import SwarmWitness  # noqa: PLC0415 - few need it

        add_component(configurator, "rekindle_swarm_witness", SwarmWitness(configurator.components))
    site = configurator.args.client_name
    if configurator.config_data.get("task_result_filters"):
        from .filters import FilterWitness  # noqa: PLC0415 - few need it

        add_component(configurator, "rekindle_filter_witness", FilterWitness(site))
    hasten_client(configurator)
    Evidence(f"{site}.{name_server()}").configuration(site, _described(configurator, []))


ADDERS = {"Server": add_to_server, "Client": add_to_client}
"""What adds components to those of a configuration, by whose it is."""


def add_component(configurator: Any, name: str, component: Any) -> None:
    """Add a component, unless the job's own configuration has one of its class."""
    if type(component) not in map(type, configurator.handlers):
        configurator.components[name] = component
        configurator.handlers.append(component)


def _described(configurator: Any, workflows: list[Any]) -> dict[str, Any]:
    """Return a configuration as NVFlare read it, with the class of each workflow and component built."""
    content: dict[str, Any] = _short(configurator.config_data)
    for entry, workflow in zip(content.get("workflows", ()), workflows, strict=False):
        entry.update(path=_path(workflow))
    for entry in content.get("components", ()):
        if entry.get("id") in configurator.components:
            entry.update(path=_path(configurator.components[entry["id"]]))
    return content


def _path(built: Any) -> str:
    return f"{type(built).__module__}.{type(built).__qualname__}"


def _short(value: Any) -> Any:
    """Return a copy of ``value`` that JSON can hold: no long lists or texts, and of an object its class."""
    if isinstance(value, dict):
        return {str(name): _short(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(part) for part in value] if len(value) <= _LONGEST else None
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else None
    return value if value is None or isinstance(value, (bool, int, float)) else {"path": _path(value)}
