"""Action ``collect_run``: brings a run's folder home as one archive, and has it judged and sealed here."""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path

import msgspec
import psutil
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from rekindle import home
from rekindle.archive import TOTAL_LIMIT, ArchiveError, files_end_at
from rekindle.records import RecordError, RunSpec


class ActionModule(ActionBase):
    """Arguments: ``run``, ``python`` and ``payload`` on the host; here the ``spec`` sent and ``dest``."""

    def run(self, tmp=None, task_vars=None):
        """Pack there, fetch, unpack and judge here: what the host says names no file and is no verdict."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "run": {"required": True},
                "python": {"required": True},
                "payload": {"required": True},
                "spec": {"type": "dict", "required": True},
                "dest": {"required": True},
            }
        )
        spec = msgspec.json.decode(json.dumps(args["spec"]), type=RunSpec)
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
                home.keep(archive, Path(args["dest"]), spec, args["run"], Path(args["payload"]).name)
            except AnsibleConnectionFailure:
                raise
            except AnsibleError as error:
                said = f"{packed} could not be fetched, or has more than {TOTAL_LIMIT >> 20} MiB: {error}"
            except (ArchiveError, RecordError) as error:
                said = str(error)
            except BaseException:  # the task's timeout is one, and would leave ssh behind
                for child in psutil.Process().children(recursive=True):
                    child.terminate()
                raise
        self._low_level_execute_command(f"rm -f {shlex.quote(packed)}")
        return {**result, "failed": True, "msg": said} if said else result
