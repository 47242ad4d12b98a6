"""Action ``save_environments``: writes env.json and its locks on the controller, enough to rebuild them."""

from pathlib import Path
from typing import Any

from rekindle import capsule
from rekindle.actions.base import Action, Failed
from rekindle.capsule.specs import environment_specs
from rekindle.records import EnvRecord, RecordError, convert
from rekindle.records.folders import host_in, plan_in


class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check what came from the host against the schema, and write it."""
        folder, kept = Path(args["folder"]), Path(args["capsule"]) if args["capsule"] else None
        answer = {"host": task_vars["inventory_hostname"], "environments": args["environments"]}
        try:
            env = convert(answer, EnvRecord)
            plan, host = plan_in(folder), host_in(folder)
            sent = environment_specs(plan, host, capsule=kept)
            locks = sorted((spec["name"], spec["lock"], spec["lock_sha256"]) for spec in sent)
            built_locks = sorted(
                (built.framework, built.lock, built.lock_sha256) for built in env.environments
            )
            if built_locks != locks:
                raise RecordError("its locks are not those that were sent")
            capsule.save(env, folder)
        except RecordError as error:
            message = f"What came from the host is not a valid EnvRecord: {error.message.rstrip('.')}."
            raise Failed(message, "run the stage again.") from None
        return {}
