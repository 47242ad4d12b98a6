# SPDX-License-Identifier: Apache-2.0
"""Action ``save_environments``: writes env.json and its locks on the controller, enough to rebuild them."""

from pathlib import Path
from typing import Any

from rekindle.actions.base import Action
from rekindle.capsule.capsules import receive_environments
from rekindle.capsule.specs import read_specs


class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check what came from the host against the schema and what was sent, and write it."""
        folder = Path(args["folder"])
        _, sent = read_specs(folder, args["capsule"])
        receive_environments(args["environments"], task_vars["inventory_hostname"], folder, sent)
        return {}
