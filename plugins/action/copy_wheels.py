# SPDX-License-Identifier: Apache-2.0
"""Action ``copy_wheels``: sends the locked wheels of each environment that a host has not built yet."""

import os
import shlex
from pathlib import Path
from typing import Any

from ansible.utils.display import Display

from rekindle.actions.base import Action
from rekindle.actions.limits import limit_action
from rekindle.capsule.specs import read_specs
from rekindle.environments.lockfile import digest_folder, find_lacking, list_digests, read_pins
from rekindle.host import folders
from rekindle.hostfacts import frames
from rekindle.records import Complaint


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Send what the host lacks; fail if the wheelhouse itself is not complete."""
        folder = Path(args["folder"])
        host, specs = read_specs(folder, args["capsule"])
        brought = 0
        for spec in specs:
            source = Path(args["wheelhouse"], spec["lock_sha256"][:12])
            root, digest = Path(host.root), spec["lock_sha256"]
            target = folders.locate_wheels(root, digest)
            built = folders.locate_marker(root, spec["name"], digest)
            there = self._there(host.host, target, built)
            if there is None:
                continue
            wanted, have = read_pins(spec["lock_text"], host.os.architecture), digest_folder(source)
            missing = list(find_lacking(wanted, have))
            if missing:
                plan = str(folder / folders.PLAN_RECORD)
                fix = shlex.join(["rekindle", "bundle", plan, "-o", args["wheelhouse"]])
                raise Complaint(f"The wheelhouse lacks {spec['lock']}: {missing[0]}.", fix)
            locked = list_digests(wanted)
            wheels = [path for digest, path in have.items() if digest in locked]
            brought += self._bring(wheels, target, there, f"{host.host} {spec['name']}")
        return {"changed": brought > 0}

    def _there(self, host: str, target: Path, built: Path) -> dict[str, int] | None:
        """Return the sizes of the files in ``target`` by name; None if the environment is built."""
        quoted = shlex.quote(str(target))
        sizes = f"mkdir -p {quoted} && cd {quoted} && wc -c -- * 2>/dev/null"
        execute = self._low_level_execute_command
        found = frames.ask_paths(execute, host, "wheels", {"built": built}, sizes)["built"]
        if found.answered:
            return None
        pairs = (line.split(maxsplit=1) for line in found.text.splitlines())
        return {pair[1]: int(pair[0]) for pair in pairs if len(pair) == 2}

    def _bring(self, wheels: list[Path], target: Path, there: dict[str, int], who: str) -> int:
        """Send each file that is not there with its full size; shows bytes as they go."""
        left = [path for path in wheels if there.get(path.name) != path.stat().st_size]
        total, sent, parent = sum(path.stat().st_size for path in left), 0, os.getppid()
        for path in left:
            if os.getppid() != parent:  # ansible-playbook was killed, and may be at the same files again
                break
            self._connection.put_file(str(path), str(target / path.name))
            sent += path.stat().st_size
            Display().display(f"{who}: {sent / 1e6:.0f} of {total / 1e6:.0f} MB of wheels, {path.name}")
        return len(left)
