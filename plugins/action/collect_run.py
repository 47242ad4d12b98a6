"""Action ``collect_run``: brings a run's folder home as one archive, and has it judged and sealed here."""

from __future__ import annotations

import secrets
import shlex
import tempfile
from pathlib import Path

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from rekindle import home, records
from rekindle.archive import LEFT, TOTAL_LIMIT, ArchiveError, files_end_at
from rekindle.limits import limited
from rekindle.records import RecordError, RunSpec, convert
from rekindle.report.text import one_line


@limited
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
        spec = convert(args["spec"], RunSpec)
        packed = f"{args['run']}.{secrets.token_hex(8)}.tar.gz"  # another may collect the same run
        command = shlex.join([args["python"], "-m", "rekindle.archive", args["run"], packed])
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
        self._low_level_execute_command(f"rm -f {shlex.quote(packed)}")
        if said:
            return {**result, "failed": True, "msg": said}
        if left := _left(Path(args["dest"])):
            Display().display(f"{task_vars['inventory_hostname']} {Path(args['dest']).name}: {left}")
        return result


def _left(run):
    """Say which files of a run that is home stayed on the host; nothing if none is known to."""
    if not (run / LEFT).exists():
        return ""
    try:
        left = records.read(run / LEFT, records.LeftBehind)
    except records.RecordError as error:
        return one_line(str(error))
    named = ", ".join(f"{name} ({why})" for name, why in list(left.files.items())[:3])
    more = len(left.files) + left.more - 3
    return one_line(f"stayed on the host: {named}{f' and {more} more' if more > 0 else ''}")
