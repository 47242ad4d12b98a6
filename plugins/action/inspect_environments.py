# SPDX-License-Identifier: Apache-2.0
"""Action ``inspect_environments``: which planned environments a host has; nothing is changed there."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from rekindle.actions import answers
from rekindle.actions.base import Action
from rekindle.actions.limits import limit_action, limit_time
from rekindle.capsule.capsules import receive_environments
from rekindle.capsule.sizes import sum_downloads
from rekindle.capsule.specs import read_specs
from rekindle.environments import Specification
from rekindle.host import folders
from rekindle.hostfacts import frames
from rekindle.records import (
    HostRecord,
    PayloadRecord,
    RecordError,
    StandingRecord,
    read_record,
    write_record,
)
from rekindle.results import state

_LONGEST = 4 << 20
"""Characters of an answer."""
_LIMIT_S = 120
"""For one; a host that has to look for longer does so as it builds, where it is followed."""


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = True

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Ask the host: whether each stands as it was built, or under check, which there are.

        Writes env.json if all stand, and else returns their ``specs``. A lock from a host counts only if it
        was sent, so theirs are kept.
        """
        home, host_name = Path(args["folder"]), task_vars["inventory_hostname"]
        host, specs = read_specs(home, args["capsule"], offline=bool(args["wheelhouse"]))
        if self._task.check_mode:
            self._foresee(home, host, specs, args["wheelhouse"])
            return {"changed": False}
        for spec in specs:
            state.keep_sent_lock(spec["lock_text"])
        if standing := self._standing(home, host, specs):
            receive_environments(standing, host_name, home, specs)
            return {"changed": False}
        return {"changed": False, "specs": specs}

    def _standing(self, home: Path, host: HostRecord, specs: list[Specification]) -> list[Any]:
        """Return the records of all, or nothing: one is to be built, or only a build can tell."""
        if host.allocation:  # a node looks
            return []
        payload = read_record(home / folders.PAYLOAD_RECORD, PayloadRecord).path
        command = answers.make_command(
            specs[0]["python"], payload, "rekindle.environments", "standing", host.root
        )
        execute = partial(self._low_level_execute_command, in_data=json.dumps(specs).encode())
        try:
            with limit_time(_LIMIT_S):
                answer = answers.ask_host(execute, host.host, command, _LONGEST, "")
        except (RecordError, TimeoutError):
            return []
        standing = answer.get("environments")
        return standing if isinstance(standing, list) else []

    def _foresee(self, home: Path, host: HostRecord, specs: list[Specification], wheelhouse: str) -> None:
        """Write standing.json."""
        root = Path(host.root)
        built = {
            spec["name"]: folders.locate_marker(root, spec["name"], spec["lock_sha256"]) for spec in specs
        }
        found = frames.ask_paths(self._low_level_execute_command, host.host, "environments", built)
        standing = tuple(name for name in built if found[name].answered)
        missing = [spec for spec in specs if spec["name"] not in standing]
        wheels_mb = fetch_mb = None
        if wheelhouse:
            kept = {Path(wheelhouse, spec["lock_sha256"][:12]) for spec in missing}
            wheels = (path for folder in kept for path in folder.glob("*"))
            wheels_mb = round(sum(path.stat().st_size for path in wheels) / 1e6)
        elif (size := sum_downloads(missing, host)) is not None:
            fetch_mb = round(size / 1e6)
        record = StandingRecord(host=host.host, standing=standing, wheels_mb=wheels_mb, fetch_mb=fetch_mb)
        write_record(home / folders.STANDING_RECORD, record)
