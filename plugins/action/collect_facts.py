"""Action ``collect_facts``: from a host to its host.json, in one round trip and without Python there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rekindle import hostfacts, records
from rekindle.actions.base import REQUIRED, Action, Failed
from rekindle.actions.limits import limited
from rekindle.host import places
from rekindle.hostfacts.collector import ask

_COLLECTOR = places.repository() / "roles/preflight/files/collect.sh"


@limited
class ActionModule(Action):
    """Arguments: ``root``, ``tmpdir``, ``gpus_required``, ``min_free_gb``, ``dest``; returns ``host``."""

    _supports_check_mode = True

    ARGUMENTS = {
        "root": REQUIRED,
        "tmpdir": REQUIRED,
        "gpus_required": {"type": "bool", **REQUIRED},
        "min_free_gb": {"type": "float", **REQUIRED},
        "dest": REQUIRED,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Collect, which changes nothing on the host; fails if the host lacks what it needs."""
        frames = ask(self._low_level_execute_command, _COLLECTOR, args["root"], args["tmpdir"])
        try:
            host = hostfacts.host_record(frames, task_vars["inventory_hostname"], args["root"])
        except (ValueError, RecursionError) as error:
            raise Failed(
                f"What the host says of itself makes no sense: {error}.", "do not trust that host."
            ) from None
        records.write(Path(args["dest"], "host.json"), host)
        lacks = hostfacts.unmet(host, gpus_required=args["gpus_required"], min_free_gb=args["min_free_gb"])
        if lacks:
            raise Failed("\n".join(map(str, lacks)))
        return {"changed": False, "host": records.to_builtins(host)}
