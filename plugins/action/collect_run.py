# SPDX-License-Identifier: Apache-2.0
"""Action ``collect_run``: fetches a run's folder as one archive, and judges and seals it here."""

import secrets
import shlex
import tempfile
from pathlib import Path
from typing import Any

from ansible.utils.display import Display

from rekindle import records
from rekindle.actions import clock
from rekindle.actions.answers import make_command
from rekindle.actions.base import Action
from rekindle.actions.limits import fetch_file, limit_action
from rekindle.host import folders
from rekindle.host.archive import TOTAL_LIMIT
from rekindle.records import Complaint, RecordError
from rekindle.records.layout import left_in
from rekindle.records.text import fold_line
from rekindle.results import collection
from rekindle.results.contents import locate_placed

_DIGEST = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())"
_ROUND_TRIPS = 3


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Pack there, fetch, unpack and judge here: the host names no file and gives no verdict."""
        home, job, part = Path(args["home"]), args["job"], args["federated"]
        path, dest = locate_placed(home, job), home / job
        if part:
            from rekindle.federation import parts  # noqa: PLC0415 - few jobs are over several hosts

            path, dest = (
                parts.locate_placed_part(home, job),
                parts.locate_part(home.parent, job, home.name),
            )
        if not path.exists():
            return {"skipped": True, "skip_reason": f"{args['job']} was not placed on the host."}
        placed = records.read_record(path, records.PlacedRecord)
        packed = f"{placed.run}.{secrets.token_hex(8)}.tar.gz"  # another may collect the same run
        pack = make_command(args["python"], placed.payload, "rekindle.host.archive", placed.run, packed)
        digest = shlex.join([args["python"], "-ISc", _DIGEST, placed.payload])
        answer = self._low_level_execute_command(f"{pack} && {{ {digest}; :; }}")
        if answer["rc"] != 0:
            complaint = " ".join(answer["stderr"].split())[-500:]
            raise Complaint(f"The run could not be packed on the host: {complaint}")
        trips = 1 if placed.spec.job.federated else _ROUND_TRIPS
        now = clock.ask_clock(self._low_level_execute_command, args["python"], trips)
        failed: Complaint | None = None
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder, "run.tar.gz")
            try:
                fetch_file(self._connection, packed, str(archive), TOTAL_LIMIT)
                if part:
                    parts.keep_part(archive, dest, now)
                else:
                    collection.keep_run(archive, dest, placed, now, clock.take_last_line(answer))
            except Complaint as error:
                failed = error
        self._low_level_execute_command(f"rm -f {shlex.quote(packed)}")
        if failed:
            raise failed
        if left := _left(dest):
            Display().display(f"{task_vars['inventory_hostname']} {args['job']}: {left}")
        return {}


def _left(run: Path) -> str:
    """Return which files of a collected run stayed on the host, or nothing."""
    if not (run / folders.LEFT).exists():
        return ""
    try:
        left = left_in(run)
    except RecordError as error:
        return fold_line(str(error))
    named = ", ".join(f"{name} ({why})" for name, why in list(left.files.items())[:3])
    more = len(left.files) + left.more - 3
    return fold_line(f"stayed on the host: {named}{f' and {more} more' if more > 0 else ''}")
