# SPDX-License-Identifier: Apache-2.0
"""Action ``probe_links``: has a site try its way to the federation's server, where a listener waits."""

import json
from pathlib import Path
from typing import Any

from rekindle import records
from rekindle.actions.asked import ask, command_of
from rekindle.actions.base import Action, Failed
from rekindle.actions.limits import limited
from rekindle.host import folders
from rekindle.hostfacts.nodes import of_node
from rekindle.records import Complaint, RecordError
from rekindle.records.complaint import quoted
from rekindle.records.folders import host_in
from rekindle.records.text import one_line

_PATIENCE_S = 120
"""For SLURM to give a node, whose way to the server may be another than the login node's."""
_ASKED = ("kit", "address", "port", "release", "limit_s", "clock_s")


@limited
class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Run it on the host, which answers with figures or a sentence, both bounded."""
        home, host = Path(args["home"]), task_vars["inventory_hostname"]
        folder = str(Path(host_in(home).root, folders.REACH, str(args["port"])))
        asked = json.dumps({name: args[name] for name in _ASKED})
        words = {"listen": [folder, asked], "probe": [asked], "end": [folder]}[args["do"]]
        if args["do"] == "probe":
            (home / folders.LINK_RECORD).unlink(missing_ok=True)
        slurm = host_in(home).slurm if args["do"] == "probe" else None
        through = of_node(slurm, "reach", f"--immediate={_PATIENCE_S}") if slurm else []
        module = ("rekindle.reach", args["do"], *words)
        command = command_of(args["python"], args["payload"], *module, through=through)
        fix = "see that its environment still runs."
        if slurm:
            fix = "see that its environment runs on its nodes, and whether sinfo has a free one."
        answer = ask(self._low_level_execute_command, host, command, 10_000, fix)
        if "message" in answer:
            says = one_line(str(Complaint(str(answer["message"]), str(answer.get("fix", "")))))
            raise Failed(quoted(says), "correct what it names, and run the play again.")
        if args["do"] == "probe":
            mine = {"host": host, "address": args["address"], "port": args["port"], "at": records.timestamp()}
            try:
                link = records.convert({**answer, **mine}, records.LinkRecord)
            except RecordError as error:
                raise Failed(f"{host} does not report its link: {error.message}.") from None
            records.write(home / folders.LINK_RECORD, link)
        return {"changed": False, **({"running": True} if answer.get("running") else {})}
