"""Action ``check_settings``: refuses settings that nobody reads or that cannot work; writes lease.json."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from rekindle.actions.base import REQUIRED, Action
from rekindle.actions.settings import misnamed
from rekindle.host import places
from rekindle.hostfacts import flaw
from rekindle.jobs import lease
from rekindle.records import Complaint, RecordError

_SPECS = places.repository() / "roles" / "settings" / "meta" / "argument_specs.yml"


class ActionModule(Action):
    """Arguments: ``root`` and ``tmpdir`` on the host, ``here`` (folders here by setting), ``jobs``,
    ``job_arguments`` by job, ``lease_ends`` and ``budget``; ``results``, and ``home``, the host's in it.
    """

    ARGUMENTS = {
        "root": REQUIRED,
        "tmpdir": REQUIRED,
        "here": {"type": "dict", "default": {}},
        "jobs": {"type": "list", "elements": "str", **REQUIRED},
        "job_arguments": {"type": "dict", **REQUIRED},
        "lease_ends": REQUIRED,
        "budget": REQUIRED,
        "results": REQUIRED,
        "home": REQUIRED,
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Check the host's variables; nothing is asked of the host."""
        known = yaml.safe_load(_SPECS.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
        complaints = misnamed(task_vars, known)
        for name in sorted(set(args["job_arguments"]) - set(args["jobs"])):
            says = f"rekindle_job_arguments has options for {name}, which is not in rekindle_jobs."
            complaints.append(Complaint(says, f"name one of {', '.join(args['jobs'])}."))
        flaws = (flaw(f"rekindle_{name}", args[name]) for name in ("root", "tmpdir"))
        complaints += list(filter(None, flaws))[:1]  # by default the second lies in the first
        for name, value in args["here"].items():
            if not value.isprintable() or "$" in value:
                says = f"{name} is {value!r}, which sftp or Ansible would read more into."
                complaints.append(Complaint(says, "name another."))
        if not args["here"].get("rekindle_results", "."):
            says = "rekindle_results is not set, and no callback is there to name a folder for this run."
            plugins = "set ANSIBLE_CALLBACK_PLUGINS to the folder plugins/callback beside roles/"
            fix = f"{plugins} and ANSIBLE_CALLBACKS_ENABLED=rekindle, or set rekindle_results."
            complaints.append(Complaint(says, fix))
        host, home = task_vars["inventory_hostname"], Path(args["home"])
        try:
            started = lease.started(Path(args["results"]), host) or datetime.now(timezone.utc)
            ends = lease.deadline(args["lease_ends"], args["budget"], started)
            if not complaints:
                lease.keep(home, host, started, ends)
        except RecordError as error:
            complaints.append(error)
        said = "\n".join(map(str, complaints))
        return {"failed": bool(said), "msg": said or "All settings are known."}
