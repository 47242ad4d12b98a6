# SPDX-License-Identifier: Apache-2.0
"""Action ``survey_fabric``: each host's part of a measurement between hosts, its record, and the verdicts."""

import re
import tempfile
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle import acceptance, records
from rekindle.actions.base import Action, strip_tags
from rekindle.actions.limits import fetch_file, limit_action
from rekindle.fabric import parts, verdicts
from rekindle.host import folders
from rekindle.host.paths import resolve_path
from rekindle.records.base import FILE_LIMIT
from rekindle.records.fabric import FABRIC
from rekindle.records.layout import list_fabrics
from rekindle.results import seal

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""The name of a machine in an allocation, which its first one says."""
_AGAIN = "see conductor.log beside it, and run the play again."


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    _supports_check_mode = False

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do it for all hosts at once."""
        results, hosts = Path(args["results"]), strip_tags(args["hosts"])
        if args["do"] == "prepare":
            for record in list_fabrics(results, hosts):
                record.unlink()
            addresses = {host: _find_address(host, task_vars) for host in hosts}
            made = parts.make_parts(results, addresses, args["port"], _read_norms(args))
            return {"changed": False, "parts": made}
        if args["do"] == "collect":
            found = self._collect(f"{args['folder']}/{folders.FABRIC_RECORD}", hosts, args["nodes"])
            of = strip_tags(task_vars["inventory_hostname"]) if args["nodes"] else None
            record = results / (of or "") / folders.FABRIC_RECORD
            records.write_record(record, replace(found, host=of, norms=_read_norms(args)))
            return {}
        surveys = [records.read_record(path, records.FabricRecord) for path in list_fabrics(results, hosts)]
        known = {verdict.host: verdict for survey in surveys for verdict in verdicts.judge_hosts(survey)}
        judged = [known.get(host) or verdicts.make_unmeasured(host) for host in hosts]
        for verdict in judged:
            run = results / verdict.host / FABRIC
            records.write_record(run / folders.VERDICT, verdict)
            seal.seal_run(run)
        failed = sum(verdict.verdict != "PASS" for verdict in judged)
        return {"msg": f"Something is wrong with {failed} of {len(judged)} hosts, or with a link of theirs."}

    def _collect(self, there: str, hosts: list[str], nodes: int) -> records.FabricRecord:
        """Return what the first host has, which may be anything.

        Raises:
            records.Complaint: it is no record of these hosts, or of so many nodes of an allocation.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, folders.FABRIC_RECORD)
            fetch_file(self._connection, there, str(path), FILE_LIMIT, _AGAIN)
            try:
                found = records.read_record(path, records.FabricRecord)
            except records.RecordError as error:
                raise records.Complaint(f"{there} cannot be collected: {error.message}", _AGAIN) from None
        named = {host for look in found.looks for host in look.hosts} | {*found.silent}
        is_of_nodes = len({*found.hosts}) == nodes and all(map(_NODE.fullmatch, found.hosts))
        if not (is_of_nodes if nodes else [*found.hosts] == hosts) or named - {*found.hosts}:
            raise records.Complaint(f"{there} is of other hosts than were asked for.", _AGAIN)
        return found


def _find_address(host: str, task_vars: dict[str, Any]) -> str:
    known = task_vars["hostvars"][host]
    return str(known.get("rekindle_fabric_address") or known.get("ansible_host") or host)


def _read_norms(args: dict[str, Any]) -> records.Norms | None:
    return acceptance.read_norms(resolve_path(args["norms"])) if args["norms"] else None
