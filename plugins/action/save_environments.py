"""Action ``save_environments``: writes env.json and its locks on the controller, enough to rebuild them."""

from pathlib import Path
from typing import Any

from rekindle import capsule
from rekindle.actions.base import Action, Failed
from rekindle.capsule.specs import specs_in
from rekindle.records import EnvRecord, RecordError, convert


class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check what came from the host against the schema, and write it."""
        folder = Path(args["folder"])
        answer = {"host": task_vars["inventory_hostname"], "environments": args["environments"]}
        try:
            env = convert(answer, EnvRecord)
            _, sent = specs_in(folder, args["capsule"])
            locks = sorted((spec["name"], spec["lock"], spec["lock_sha256"]) for spec in sent)
            built = sorted((one.framework, one.lock, one.lock_sha256) for one in env.environments)
            if built != locks:
                raise RecordError("its locks are not those that were sent")
            capsule.save(env, folder)
        except RecordError as error:
            message = f"What came from the host is not a valid EnvRecord: {error.message.rstrip('.')}."
            raise Failed(message, "run the stage again.") from None
        return {}
