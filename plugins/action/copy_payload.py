# SPDX-License-Identifier: Apache-2.0
"""Action ``copy_payload``: sends Rekindle's own code and the jobs to the host in one file."""

import shlex
from pathlib import Path
from typing import Any

from ansible.plugins.action.copy import ActionModule as Copy
from ansible.utils.display import Display

from rekindle import records
from rekindle.actions import clock
from rekindle.actions.base import read_documented_options
from rekindle.actions.limits import limit_action
from rekindle.capsule import python
from rekindle.host import files, folders
from rekindle.host.paths import JOBS
from rekindle.host.payload import list_left_behind, pack_payload, write_payload
from rekindle.jobs import (
    checkout,
    list_examples,
    list_sent_data,
    load_job,
    load_planned,
    load_planned_job,
    locate_folder,
)
from rekindle.records.layout import host_in, plan_in

_OURS = pack_payload(JOBS)
"""Packed once, when this is loaded: each task has a process of its own, which begins with what is there."""


@limit_action
class ActionModule(Copy):
    """plugins/modules has its documentation."""

    OPTIONS = read_documented_options(__name__)

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send it, and write payload.json; warn of files that are not sent."""
        _, args = self.validate_argument_spec(self.OPTIONS)
        plan, host = plan_in(Path(args["home"])), host_in(Path(args["home"]))
        wheelhouse = Path(args["wheelhouse"]) if args["wheelhouse"] else None
        for wanted in python.list_archives(plan, host):
            brought = python.bring_python(
                wanted, wheelhouse, self._low_level_execute_command, self._connection.put_file
            )
            if brought:
                Display().display(f"{host.host}: Python {wanted.version} was copied to {host.root}.")
        own = {name: locate_folder(Path(path)) for name, path in plan.own.items()}
        for folder, called in ((JOBS, "flare_jobs"), *((path, str(path)) for path in own.values())):
            if left := list_left_behind(folder):
                names = ", ".join(f"{called}/{name}" for name in left[:5])
                Display().warning(f"Not tracked by git and not sent to hosts: {names}. Fix: git add them.")
        others = {**_examples(plan, args["checkout"]), **own}
        for name, folder in own.items():
            others |= list_sent_data(load_planned_job(plan, name), folder)
        content = pack_payload(JOBS, others) if others else _OURS
        payload = write_payload(content, Path(args["results"], "payload"))
        there = f"{args['root']}/{folders.JOBS}/"
        result: dict[str, Any] = {"changed": False}
        if not self._has(there + payload.name, payload):
            self._task.args = {"src": str(payload), "dest": there, "mode": "0600", "directory_mode": "0700"}
            result = super().run(tmp, task_vars)
        if not result.get("failed"):
            record = records.PayloadRecord(host=host.host, path=there + payload.name)
            records.write_record(Path(args["home"], folders.PAYLOAD_RECORD), record)
        return result

    def _has(self, path: str, payload: Path) -> bool:
        """Whether the host has this payload, for its owner alone; a copy asks four times as much."""
        command = f"find {shlex.quote(path)} -type f -perm 600 -exec sha256sum {{}} +"
        answer = clock.take_last_line(self._low_level_execute_command(command))
        return answer.split(maxsplit=1)[:1] == [files.digest_file(payload)]


def _examples(plan: records.PlanRecord, setting: str) -> dict[str, Path]:
    """Return the folders of all examples in the checkout, if one is planned; all, so that a run's inputs
    do not depend on what runs beside it.
    """
    if not any(job.example and job.example.folder for job in load_planned(plan)):
        return {}
    described = [load_job(JOBS, name) for name in list_examples(JOBS)]
    return checkout.provide_checkout(setting, plan.nvflare).examples(described)
