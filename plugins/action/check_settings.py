"""Action ``check_settings``: refuses a setting that nobody reads, and values that cannot work."""

from __future__ import annotations

import difflib
from pathlib import Path

import yaml
from ansible.plugins.action import ActionBase

from rekindle.hostfacts import flaw

_SPECS = Path(__file__).parents[2] / "roles" / "settings" / "meta" / "argument_specs.yml"


class ActionModule(ActionBase):
    """Arguments: ``root`` and ``tmpdir`` on the host, ``here`` (folders here by setting), ``jobs``,
    and ``job_arguments`` by job.
    """

    def run(self, tmp=None, task_vars=None):
        """Check the host's variables; nothing is asked of the host."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "root": {"required": True},
                "tmpdir": {"required": True},
                "here": {"type": "dict", "default": {}},
                "jobs": {"type": "list", "elements": "str", "required": True},
                "job_arguments": {"type": "dict", "required": True},
            }
        )
        known = yaml.safe_load(_SPECS.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
        said = []
        for name in sorted(task_vars):
            if name.startswith("rekindle_") and name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                fix = f"write {near[0]}" if near else "remove it"
                said.append(
                    f"The inventory sets {name}, which is no setting. Fix: {fix} (see roles/settings)."
                )
        for name in sorted(set(args["job_arguments"]) - set(args["jobs"])):
            said.append(
                f"rekindle_job_arguments has options for {name}, which is not in rekindle_jobs. "
                f"Fix: name one of {', '.join(args['jobs'])}."
            )
        flaws = (flaw(f"rekindle_{name}", args[name]) for name in ("root", "tmpdir"))
        said += list(filter(None, flaws))[:1]  # by default the second lies in the first
        for name, value in args["here"].items():
            if not value.isprintable() or "$" in value:
                said.append(
                    f"{name} is {value!r}, which sftp or Ansible would read more into. Fix: name another."
                )
        return {**result, "failed": bool(said), "msg": "\n".join(said) or "All settings are known."}
