# SPDX-License-Identifier: Apache-2.0
"""Action ``federation``: what a federation is on its hosts; it stays up for its users' jobs, and is ended."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

from ansible.utils.display import Display
from msgspec.structs import replace

from rekindle import records
from rekindle.actions import clock
from rekindle.actions.answers import ask_host, make_command
from rekindle.actions.base import Action, strip_tags
from rekindle.actions.limits import limit_action
from rekindle.federation import placement, status
from rekindle.federation.records import MemberRecord
from rekindle.federation.view import format_federation
from rekindle.host import folders
from rekindle.records.text import format_json
from rekindle.report.table import measure_terminal


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do it on one host, or ``show`` the status of all."""
        if args["do"] == "show":
            return _show(args["name"], task_vars)
        host, there = task_vars["inventory_hostname"], f"{folders.PART}/{args['name']}"
        home, _, rest = args["root"].partition("/")
        root = f'"$HOME"/{shlex.quote(rest)}' if home == "~" else shlex.quote(args["root"])
        found = self._low_level_execute_command(f"cat {root}/{shlex.quote(f'{there}/{folders.MEMBER}')}")
        if found["rc"]:
            if args["do"] == "start":
                raise records.Complaint(
                    f"{host} has no kit of the federation {args['name']}.", "run federate.yml."
                )
            return {"changed": False, "member": None}
        self._member = records.decode_json(str(found["stdout"]), MemberRecord)
        self._folder = str(placement.find_folder(self._member))
        if args["do"] == "start":
            return self._start(args, task_vars)
        answer = self._ask(host, "stop" if args["do"] == "stop" else "status")
        if args["do"] == "stop":
            return {"changed": bool(answer["changed"])}
        if args["do"] == "require_down" and answer["since"]:
            message = f"The federation {args['name']} is up on {host}, for jobs of its users."
            raise records.Complaint(message, "end it: rekindle federate --stop -i INVENTORY")
        clock_there = clock.ask_clock(self._low_level_execute_command, self._member.python, 3)
        member = status.describe_member(host, self._member, answer, clock_there)
        return {"changed": False, "member": records.dump_builtins(member)}

    def _start(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Start it with the settings for the links that were measured."""
        groups, present = task_vars["groups"], task_vars["ansible_play_hosts"]
        server, sites = groups["flare_server"][0], groups["flare_sites"]
        members = placement.Members(Path(args["results"]), server, sites, present, args["min_sites"])
        host = task_vars["inventory_hostname"]
        member = replace(self._member, member=members.member(host))
        left = self._low_level_execute_command(placement.leave_command(member))
        if left["rc"]:
            raise records.Complaint(f"{host} cannot write into {self._folder}.", "see its rights and room.")
        return {"changed": bool(self._ask(host, "start")["changed"])}

    def _ask(self, host: str, what: str) -> dict[str, Any]:
        """Return what the host answers to a verb of `rekindle.federation.keeper`."""
        there = self._member
        command = make_command(there.python, there.payload, "rekindle.federation.keeper", what, self._folder)
        fix = "run federate.yml, which repairs it."
        return ask_host(self._low_level_execute_command, host, command, 100_000, fix)


def _show(name: str, task_vars: dict[str, Any]) -> dict[str, Any]:
    """Show what all hosts answered; for the rekindle command into the file that it names."""
    groups, of_hosts = task_vars["groups"], task_vars["hostvars"]
    names = strip_tags([name, *groups["flare_server"], *groups["flare_sites"]])
    answers = {host: of_hosts[host].get("federation_member") or {} for host in names[1:]}
    text = json.dumps({host: one["member"] for host, one in answers.items() if "member" in one})
    found = status.describe_federation(names[0], names[1:], records.decode_json(text, status.MEMBERS))
    if file := os.environ.get("REKINDLE_FEDERATION"):
        Path(file).write_text(format_json(found), encoding="utf-8")
    else:
        Display().display("\n" + format_federation(found, *measure_terminal()))
    return {"changed": False}
