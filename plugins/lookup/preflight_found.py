# SPDX-License-Identifier: Apache-2.0
"""Lookup ``preflight_found``: Python and root of a host, by its host.json, or before there is one."""

from pathlib import Path
from typing import Any

from ansible.plugins.lookup import LookupBase

from rekindle import hostfacts, records
from rekindle.actions.base import find_configured_python
from rekindle.records.layout import host_in, login_in

DOCUMENTATION = """
name: preflight_found
short_description: Python and root of a host, from host.json or before there is one
description: Python and root of a host, from host.json or before there is one.
options:
  _terms: {description: The folder of the host's records., required: true}
  root: {description: Setting rekindle_root of the host., type: str, required: true}
"""


class LookupModule(LookupBase):
    """``lookup('preflight_found', home, root=rekindle_root)``, of the host's folder in the results."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[dict[str, str]]:
        """Return ``python``, a path or how Ansible finds one, and Rekindle's ``root``, absolute if known."""
        configured = find_configured_python()
        found = []
        for home in terms:
            python, root = "auto_silent", str(kwargs["root"])
            try:
                host = host_in(Path(home))
                if host.allocation:
                    host = login_in(Path(home))
            except records.RecordError:  # stages that need the record report it
                pass
            else:
                python, root = hostfacts.choose_interpreter(host.pythons) or python, host.root
            found.append({"python": configured or python, "root": root})
        return found
