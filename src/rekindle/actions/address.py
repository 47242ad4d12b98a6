# SPDX-License-Identifier: Apache-2.0
"""The address of a host, as the inventory has it."""

from typing import Any

from ansible.errors import AnsibleError
from ansible.template import Templar


def find_address(play: Any, host: Any) -> tuple[str, int | None]:
    """Return the address by which a play's host is connected to, and its port if it has one of its own."""
    variables = play.get_variable_manager().get_vars(play=play, host=host)
    fill, name = Templar(play.get_loader(), variables=variables).template, str(host.get_name())
    try:
        address, port = (fill(_first(variables, of)) for of in ("host", "port"))
        return str(address or name), int(port) if port else None
    except (AnsibleError, ValueError, TypeError):
        return name, None


def _first(variables: dict[str, Any], of: str) -> Any:
    """Return what ssh takes for a host or a port: the first of the names that it may have."""
    return next((variables[name] for name in (f"ansible_{of}", f"ansible_ssh_{of}") if name in variables), "")
