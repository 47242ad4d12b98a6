# SPDX-License-Identifier: Apache-2.0
"""Lookup ``uv_for``: a uv that runs on hosts of an architecture."""

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from rekindle.capsule.uv import provide_uv
from rekindle.records import Complaint

DOCUMENTATION = """
name: uv_for
short_description: Path of a uv that runs on hosts of an architecture
description: Path of a uv that runs on hosts of an architecture.
options:
  _terms: {description: The architecture, such as x86_64., required: true}
"""


class LookupModule(LookupBase):
    """``lookup('uv_for', 'x86_64')``."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[str]:
        """Return its path here."""
        try:
            return [str(provide_uv(architecture)) for architecture in terms]
        except Complaint as error:
            raise AnsibleLookupError(str(error)) from None
