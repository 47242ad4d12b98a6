"""Action ``collect_run``: brings a run's folder home as one archive and unpacks it safely."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from ansible.plugins.action import ActionBase

from rekindle.archive import ArchiveError, unpack


class ActionModule(ActionBase):
    """Arguments: ``run``, ``python`` and ``payload`` on the host, ``dest`` on the controller."""

    def run(self, tmp=None, task_vars=None):
        """Pack there, fetch, unpack here."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "run": {"required": True},
                "python": {"required": True},
                "payload": {"required": True},
                "dest": {"type": "path", "required": True},
            }
        )
        command = shlex.join([args["python"], "-m", "rekindle.archive", args["run"]])
        answer = self._low_level_execute_command(f"PYTHONPATH={shlex.quote(args['payload'])} {command}")
        if answer["rc"] != 0:
            said = " ".join(answer["stderr"].split())[-500:]
            return {**result, "failed": True, "msg": f"The run could not be packed on the host: {said}"}
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "run.tar.gz")
            self._connection.fetch_file(answer["stdout"].strip(), str(archive))
            try:
                unpack(archive, Path(args["dest"]))
            except ArchiveError as error:
                return {**result, "failed": True, "msg": str(error)}
        return result
