"""Action ``collect_run``: brings a run's folder home as one archive and unpacks it safely."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from rekindle.archive import TOTAL_LIMIT, ArchiveError, files_end_at, unpack
from rekindle.limits import limited


@limited
class ActionModule(ActionBase):
    """Arguments: ``run``, ``python`` and ``payload`` on the host, ``dest`` on the controller."""

    def run(self, tmp=None, task_vars=None):
        """Pack there, fetch, unpack here; nothing that the host says names a file."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "run": {"required": True},
                "python": {"required": True},
                "payload": {"required": True},
                "dest": {"required": True},
            }
        )
        packed = f"{args['run']}.tar.gz"
        command = shlex.join([args["python"], "-m", "rekindle.archive", args["run"]])
        answer = self._low_level_execute_command(f"PYTHONPATH={shlex.quote(args['payload'])} {command}")
        if answer["rc"] != 0:
            said = " ".join(answer["stderr"].split())[-500:]
            return {**result, "failed": True, "msg": f"The run could not be packed on the host: {said}"}
        said = None
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "run.tar.gz")
            try:
                with files_end_at(TOTAL_LIMIT):
                    self._connection.fetch_file(packed, str(archive))
                unpack(archive, Path(args["dest"]))
            except AnsibleConnectionFailure:
                raise
            except AnsibleError as error:
                said = f"{packed} could not be fetched, or has more than {TOTAL_LIMIT >> 20} MiB: {error}"
            except ArchiveError as error:
                said = str(error)
        self._low_level_execute_command(f"rm -f {shlex.quote(packed)}")
        return {**result, "failed": True, "msg": said} if said else result
