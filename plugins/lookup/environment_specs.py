"""Lookup ``environment_specs``: from a host's records to what rekindle.environments builds there."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from rekindle.environments.specs import environment_specs
from rekindle.records import HostRecord, PlanRecord, read


class LookupModule(LookupBase):
    """``query('environment_specs', folder, wheelhouse=…, capsule=…)``, the folder of a host's records."""

    def run(self, terms, variables=None, **kwargs):
        """Return one specification for each environment."""
        try:
            folder = Path(terms[0])
            plan, host = read(folder / "plan.json", PlanRecord), read(folder / "host.json", HostRecord)
            capsule = Path(kwargs["capsule"]) if kwargs["capsule"] else None
            return environment_specs(plan, host, offline=bool(kwargs["wheelhouse"]), capsule=capsule)
        except ValueError as error:
            raise AnsibleLookupError(str(error)) from None
