"""Lookup ``payload``: builds the payload into the folder that it is given and returns its path."""

from __future__ import annotations

from pathlib import Path

from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display

from rekindle.payload import build_payload, left_behind

_JOBS = Path(__file__).parents[2] / "flare_jobs"


class LookupModule(LookupBase):
    """``lookup('payload', folder)``."""

    def run(self, terms, variables=None, **kwargs):
        """Return one path for each folder; warn of files that may be missed on the host."""
        if left := left_behind(_JOBS):
            names = ", ".join(f"flare_jobs/{name}" for name in left[:5])
            Display().warning(f"Not tracked by git and not brought to hosts: {names}. Fix: git add them.")
        return [str(build_payload(_JOBS, Path(folder))) for folder in terms]
