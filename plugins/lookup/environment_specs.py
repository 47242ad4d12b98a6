"""Lookup ``environment_specs``: turns a host's records into what rekindle.environments builds there.

The locks that it sends are kept: a lock from a host counts only if it was sent.
"""

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from rekindle.capsule.specs import specs_in
from rekindle.environments import Specification
from rekindle.records import RecordError
from rekindle.results import state

DOCUMENTATION = """
name: environment_specs
short_description: Specification of each environment to build on a host
description: Specification of each environment to build on a host.
options:
  _terms: {description: The folder of the host's records., required: true}
  wheelhouse:
    description: Folder of wheels on the controller; empty to use the network.
    type: path
    required: true
  capsule:
    description: Folder with the env.json and locks of an earlier host; empty for none.
    type: path
    required: true
"""


class LookupModule(LookupBase):
    """``query('environment_specs', folder, wheelhouse=…, capsule=…)``, the folder of a host's records."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[Specification]:
        """Return one specification for each environment."""
        try:
            _, specs = specs_in(Path(terms[0]), kwargs["capsule"], offline=bool(kwargs["wheelhouse"]))
            for spec in specs:
                state.keep_lock(spec["lock_text"])
            return specs
        except RecordError as error:
            raise AnsibleLookupError(str(error)) from None
