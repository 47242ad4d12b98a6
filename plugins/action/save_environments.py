"""Action ``save_environments``: writes env.json and its locks on the controller, enough to rebuild them."""

from __future__ import annotations

from pathlib import Path

from ansible.plugins.action import ActionBase

from rekindle import capsule
from rekindle.records import EnvRecord, RecordError, convert


class ActionModule(ActionBase):
    """Arguments: ``environments`` as the host told them, ``folder`` (the host's records), ``capsule``."""

    def run(self, tmp=None, task_vars=None):
        """Check what came from the host against the schema, and write it."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "environments": {"type": "list", "elements": "dict", "required": True},
                "folder": {"required": True},
                "capsule": {"required": True},
            }
        )
        told = {"host": task_vars["inventory_hostname"], "environments": args["environments"]}
        try:
            env = convert(told, EnvRecord)
            capsule.save(env, Path(args["folder"]), Path(args["capsule"]) if args["capsule"] else None)
        except RecordError as error:
            msg = f"What came from the host is no EnvRecord: {error}. Fix: run the stage again."
            return {**result, "failed": True, "msg": msg}
        return result
