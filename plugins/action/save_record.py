"""Action ``save_record``: checks a record against its schema and writes it on the controller."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from ansible.plugins.action import ActionBase

from rekindle import records


class ActionModule(ActionBase):
    """Arguments: ``kind`` (class in rekindle.records), ``dest``, ``content``."""

    def run(self, tmp=None, task_vars=None):
        """Write the record."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "kind": {"required": True},
                "dest": {"type": "path", "required": True},
                "content": {"type": "dict", "required": True},
            }
        )
        kind = getattr(records, args["kind"])
        try:
            records.write(Path(args["dest"]), msgspec.json.decode(json.dumps(args["content"]), type=kind))
        except msgspec.ValidationError as error:
            msg = f"What came from the host is no {args['kind']}: {error}. Fix: run the stage again."
            return {**result, "failed": True, "msg": msg}
        return result
