# SPDX-License-Identifier: Apache-2.0
"""Action ``retire``: takes a last copy of a host's results, then removes Rekindle from the host."""

import shlex
import tempfile
from pathlib import Path
from typing import Any

from rekindle.actions.base import Action
from rekindle.actions.limits import fetch_file, limit_action
from rekindle.host.archive import TOTAL_LIMIT
from rekindle.hostfacts import FactsError, choose_interpreter, system
from rekindle.hostfacts.frames import ask_frames
from rekindle.results.archive import unpack_archive
from rekindle.retire import lastcopy


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = True

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Copy, check the copy, remove; a host without a complete copy stays unchanged."""
        host, home = task_vars["inventory_hostname"], Path(args["dest"])
        if args["python"].startswith("auto"):
            python = self._python(args["root"]) or args["python"]
            task_vars = {**task_vars, "ansible_python_interpreter": python}

        def on_host(verb: str) -> dict[str, Any]:
            given = {"root": args["root"], "stop": args["stop"], "verb": verb}
            answer: dict[str, Any] = self._execute_module("rekindle.flare.retire", given, task_vars=task_vars)
            return answer

        answer = on_host("pack")
        if answer.get("failed") or answer.get("unreachable") or self._task.check_mode:
            return answer
        if "root" in answer:
            self._copy(lastcopy.check_answer(answer), host, home)
            answer = on_host("remove")
        if not answer.get("failed"):
            lastcopy.note_removed(host, home)
        return answer

    def _python(self, root: str) -> str | None:
        """Return a Python on the host, without need of a record here; None if the host does not answer."""
        try:
            frames = ask_frames(self._low_level_execute_command, root, root, "pythons")
        except FactsError:  # its disks may be full
            return None
        return choose_interpreter(system.read_pythons(frames))

    def _copy(self, packed: lastcopy.LastCopy, host: str, home: Path) -> None:
        """Fetch each part and check it; the archives on the host are removed in any case."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                for part in packed.parts:
                    archive = Path(folder, part.archive)
                    fetch_file(self._connection, f"{packed.place}/{part.archive}", str(archive), TOTAL_LIMIT)
                    unpack_archive(archive, home / "retired" / part.name)
                    lastcopy.check_copy(part, home / "retired" / part.name)
            lastcopy.keep_copy(packed, host, home)
        finally:
            self._low_level_execute_command(f"rm -rf -- {shlex.quote(packed.place)}")
