# SPDX-License-Identifier: Apache-2.0
"""Lookup ``record``: reads a record from the results folder, or fails with one sentence."""

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from rekindle import records
from rekindle.host.rooms import load_room

DOCUMENTATION = """
name: record
short_description: Content of a record in the results folder
description: Content of a record in the results folder.
options:
  _terms: {description: The path of the record., required: true}
  kind: {description: "Name of the record's class; of a room's, as C(room.Name).", type: str, required: true}
"""


class LookupModule(LookupBase):
    """``lookup('record', path, kind='HostRecord')``."""

    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[dict[str, Any]]:
        """Return each record as a dictionary."""
        room, _, name = kwargs["kind"].rpartition(".")
        kind = getattr(load_room(room, "records") if room else records, name)
        try:
            return [records.dump_builtins(records.read_record(Path(path), kind)) for path in terms]
        except records.RecordError as error:
            raise AnsibleLookupError(str(error)) from None
