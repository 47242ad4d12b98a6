"""Action ``collect_facts``: from a host to its host.json, in one round trip and without Python there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle import hostfacts, records
from rekindle.actions.base import REQUIRED, Action, Failed
from rekindle.actions.limits import limited
from rekindle.host import batch, places
from rekindle.hostfacts.collector import ask
from rekindle.hostfacts.frames import Frames
from rekindle.records.text import one_line

_COLLECTOR = places.repository() / "roles/preflight/files/collect.sh"
_PATIENCE_S = 120
"""For SLURM to find a node."""
_ASKING = "00:03:00"
"""For the collector on it."""


@limited
class ActionModule(Action):
    """Arguments: ``root``, ``tmpdir``, ``gpus_required``, ``min_free_gb``, ``slurm``, ``dest``.

    Returns ``host``; with ``slurm`` that is a node which SLURM gives, and the login node is in login.json.
    """

    _supports_check_mode = True

    ARGUMENTS = {
        "root": REQUIRED,
        "tmpdir": REQUIRED,
        "gpus_required": {"type": "bool", **REQUIRED},
        "min_free_gb": {"type": "float", **REQUIRED},
        "slurm": {"type": "dict", **REQUIRED},
        "dest": REQUIRED,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Collect, which changes nothing on the host; fails if the host lacks what it needs."""
        name, wanted = task_vars["inventory_hostname"], args["slurm"]
        frames = ask(self._low_level_execute_command, _COLLECTOR, args["root"], args["tmpdir"])
        host = _record(frames, name, args["root"])
        login = Path(args["dest"], "login.json")
        login.unlink(missing_ok=True)
        if wanted:
            records.write(login, host)
            host = self._node(host, records.convert(wanted, records.Slurm), frames, args)
        records.write(Path(args["dest"], "host.json"), host)
        lacks = hostfacts.unmet(host, gpus_required=args["gpus_required"], min_free_gb=args["min_free_gb"])
        if lacks:
            raise Failed("\n".join(map(str, lacks)))
        return {"changed": False, "host": records.to_builtins(host)}

    def _node(
        self, login: records.HostRecord, wanted: records.Slurm, frames: Frames, args: dict[str, Any]
    ) -> records.HostRecord:
        """Return what a node is that SLURM gives, and see that Rekindle's folder is the login node's."""
        place = frames["root"].text.strip()
        marked = self._low_level_execute_command(f"mktemp {shlex.quote(place)}/.rekindle-XXXXXXXX")
        mark = marked["stdout"].strip().rpartition("\n")[2]
        if marked["rc"] or not mark:
            said = one_line(marked["stderr"]) or "no file is made"
            raise Failed(
                f"{place} on {login.host} cannot be written to: {said}.",
                "name a folder in rekindle_root that the user of the host may write to.",
            )
        srun = ["srun", "--quiet", "--nodes=1", "--ntasks=1", "--job-name=rekindle-preflight"]
        srun += [*batch.options({**args["slurm"], "time": _ASKING}), f"--immediate={_PATIENCE_S}"]
        through = ["env", f"REKINDLE_MARK={mark}", *srun]
        try:
            seen = ask(
                self._low_level_execute_command, _COLLECTOR, args["root"], args["tmpdir"], through=through
            )
        except hostfacts.FactsError as error:
            raise Failed(
                f"SLURM gives {login.host} no node to look at: {error.says.rstrip('.')}.",
                "mend rekindle_slurm, or see what sinfo says of the partition.",
            ) from None
        finally:
            self._low_level_execute_command(f"rm -f {shlex.quote(mark)}")
        if not seen["mark"].answered:
            raise Failed(
                f"{place} on {login.host} is not the same folder on the nodes of {wanted.partition}.",
                "name a folder in rekindle_root that they share.",
            )
        return replace(_record(seen, login.host, args["root"]), slurm=wanted)


def _record(frames: Frames, name: str, root: str) -> records.HostRecord:
    try:
        return hostfacts.host_record(frames, name, root)
    except (ValueError, RecursionError) as error:
        raise Failed(
            f"What the host says of itself makes no sense: {error}.", "do not trust that host."
        ) from None
