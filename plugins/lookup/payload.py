"""Lookup ``payload``: builds the payload into the folder that it is given and returns its path."""

from __future__ import annotations

from pathlib import Path

from ansible.plugins.lookup import LookupBase

from rekindle.payload import build_payload

_JOBS = Path(__file__).parents[2] / "flare_jobs"


class LookupModule(LookupBase):
    """``lookup('payload', folder)``."""

    def run(self, terms, variables=None, **kwargs):
        """Return one path for each folder."""
        return [str(build_payload(_JOBS, Path(folder))) for folder in terms]
