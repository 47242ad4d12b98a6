"""Lookup ``environment_specs``: from a plan.json to what rekindle.environments builds on the host."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from rekindle.environments.specs import environment_specs
from rekindle.records import PlanRecord, read


class LookupModule(LookupBase):
    """``query('environment_specs', 'plan.json')``."""

    def run(self, terms, variables=None, **kwargs):
        """Return one specification for each environment."""
        try:
            return environment_specs(read(Path(terms[0]), PlanRecord))
        except ValueError as error:
            raise AnsibleLookupError(str(error)) from None
