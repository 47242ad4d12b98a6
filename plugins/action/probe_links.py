# SPDX-License-Identifier: Apache-2.0
"""Action ``probe_links``: has a site try its way to the federation's server, where a listener waits."""

import json
from pathlib import Path
from typing import Any

from rekindle import records
from rekindle.actions.answers import ask_host, make_command
from rekindle.actions.base import Action
from rekindle.actions.limits import limit_action
from rekindle.doctor.subjects import find_fix
from rekindle.federation.records import LinkRecord
from rekindle.host import folders
from rekindle.host.rooms import load_room
from rekindle.records import Complaint, RecordError
from rekindle.records.complaint import quote_host
from rekindle.records.layout import host_in
from rekindle.records.text import fold_line

_PATIENCE_S = 120
"""For SLURM to give a node, whose way to the server may be another than the login node's."""
_ASKED = ("kit", "address", "port", "release", "limit_s")


@limit_action
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
        wanted = host_in(home).allocation if args["do"] == "probe" else None
        through: list[str] = []
        if wanted:
            cluster = load_room(wanted.room, "inspection")
            through = cluster.make_srun(wanted, "reach", f"--immediate={_PATIENCE_S}")
        module = ("rekindle.reach", args["do"], *words)
        command = make_command(args["python"], args["payload"], *module, through=through)
        fix = "see that its environment still runs."
        if wanted:
            fix = "see that its environment runs on its nodes, and whether sinfo has a free one."
        answer = ask_host(self._low_level_execute_command, host, command, 10_000, fix)
        if "message" in answer:
            says = quote_host(fold_line(str(Complaint(str(answer["message"]), str(answer.get("fix", ""))))))
            raise Complaint(says, find_fix(says))
        if args["do"] == "probe":
            mine = {
                "host": host,
                "address": args["address"],
                "port": args["port"],
                "at": records.format_time(),
            }
            try:
                link = records.convert_builtins({**answer, **mine}, LinkRecord)
            except RecordError as error:
                raise Complaint(f"{host} does not report its link: {error.message}.") from None
            records.write_record(home / folders.LINK_RECORD, link)
        return {"changed": False, **({"running": True} if answer.get("running") else {})}
