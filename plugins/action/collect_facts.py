"""Action ``collect_facts``: from a host to its host.json, in one round trip and without Python there."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path

from ansible.plugins.action import ActionBase

from rekindle import hostfacts, records
from rekindle.actions.limits import limited

_COLLECTOR = Path(__file__).parents[2] / "roles/preflight/files/collect.sh"


@limited
class ActionModule(ActionBase):
    """Arguments: ``root``, ``tmpdir``, ``gpus_required``, ``min_free_gb``, ``dest``; returns ``host``."""

    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        """Collect, which changes nothing on the host; fails if the host lacks what it needs."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "root": {"required": True},
                "tmpdir": {"required": True},
                "gpus_required": {"type": "bool", "required": True},
                "min_free_gb": {"type": "float", "required": True},
                "dest": {"required": True},
            }
        )
        nonce = secrets.token_hex(8)
        command = shlex.join(["sh", "-s", "--", nonce, args["root"], args["tmpdir"]])
        answer = self._low_level_execute_command(command, sudoable=False, in_data=_COLLECTOR.read_bytes())
        if answer["rc"] != 0:
            said = " ".join(answer["stderr"].split())[-500:]
            return {**result, "failed": True, "msg": f"The collector failed on the host: {said}"}
        try:
            host = hostfacts.host_record(
                answer["stdout"], nonce, task_vars["inventory_hostname"], args["root"]
            )
        except hostfacts.FactsError as error:
            return {**result, "failed": True, "msg": str(error)}
        except (ValueError, RecursionError) as error:
            msg = f"What the host says of itself makes no sense: {error}. Fix: do not trust that host."
            return {**result, "failed": True, "msg": msg}
        records.write(Path(args["dest"], "host.json"), host)
        lacks = hostfacts.unmet(host, gpus_required=args["gpus_required"], min_free_gb=args["min_free_gb"])
        if lacks:
            return {**result, "failed": True, "msg": "\n".join(lacks)}
        return {**result, "changed": False, "host": records.to_builtins(host)}
