"""Action ``probe_links``: has a site try its way to the federation's server, where a listener waits."""

import json
import shlex
from pathlib import Path
from typing import Any

from rekindle import records
from rekindle.actions import clock
from rekindle.actions.base import Action, Failed
from rekindle.actions.limits import limited
from rekindle.host import folders
from rekindle.records import RecordError
from rekindle.records.folders import host_in
from rekindle.records.text import one_line

_ANSWER = records.decodable(dict[str, Any])
_LONGEST = 10_000
_ASKED = ("kit", "address", "port", "release", "limit_s", "clock_s")


@limited
class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Run it there; the host says figures or a sentence, and both are bounded."""
        home, host = Path(args["home"]), task_vars["inventory_hostname"]
        folder = str(Path(host_in(home).root, folders.REACH, str(args["port"])))
        asked = json.dumps({name: args[name] for name in _ASKED})
        words = {"listen": [folder, asked], "probe": [asked], "end": [folder]}[args["do"]]
        if args["do"] == "probe":
            (home / folders.LINK_RECORD).unlink(missing_ok=True)
        command = shlex.join([args["python"], "-m", "rekindle.reach", args["do"], *words])
        answer = self._low_level_execute_command(f"PYTHONPATH={shlex.quote(args['payload'])} {command}")
        try:
            said = records.decode(clock.last_line(answer)[:_LONGEST], _ANSWER)
        except RecordError:
            why = one_line(str(answer["stderr"])[-500:])
            raise Failed(f"{host} did not answer: {why}", "see that its environment still runs.") from None
        if "says" in said:
            raise Failed(one_line(str(said["says"])), one_line(str(said.get("fix", ""))))
        if args["do"] == "probe":
            mine = {"host": host, "address": args["address"], "port": args["port"], "at": records.timestamp()}
            try:
                link = records.convert({**said, **mine}, records.LinkRecord)
            except RecordError as error:
                raise Failed(f"{host} does not say how its link is: {error.message}.") from None
            records.write(home / folders.LINK_RECORD, link)
        running = bool(said.get("running"))
        return {"changed": args["do"] == "listen" and not running, **({"running": True} if running else {})}
