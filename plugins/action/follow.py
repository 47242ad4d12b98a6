"""Action ``follow``: shows how far something is that runs detached on the host, until it has ended."""

from __future__ import annotations

import shlex
import time

import msgspec
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from rekindle.records import Progress
from rekindle.report.text import one_line

_PERIODS_S = (0.2, 0.5, 1.0, 2.0)
"""Between two looks; the last one goes on."""
_RECONNECT_S = 300
"""How long a host may be out of reach before it counts as lost."""


class ActionModule(ActionBase):
    """Arguments: ``progress`` (a Progress record on the host), ``what`` is followed, ``limit_s``."""

    def run(self, tmp=None, task_vars=None):
        """Follow; returns the ``result`` that the record ends with."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "progress": {"required": True},
                "what": {"required": True},
                "limit_s": {"type": "int", "required": True},
            }
        )
        shown, began, looks = "", time.monotonic(), 0
        while time.monotonic() - began < args["limit_s"]:
            progress = self._progress(args["progress"])
            if progress is not None:
                if progress.says not in {shown, ""} and progress.state != "failed":
                    who = f"{task_vars['inventory_hostname']} {args['what']}"
                    Display().display(f"{who}: {one_line(progress.says)}, {progress.elapsed_s:.0f} s")
                    shown = progress.says
                if progress.state == "failed":
                    return {**result, "failed": True, "msg": progress.says}
                if progress.state == "ended":
                    return {**result, "changed": progress.changed, "result": progress.result}
            time.sleep(_PERIODS_S[min(looks, len(_PERIODS_S) - 1)])
            looks += 1
        where = f"Fix: read the logs beside {args['progress']} on the host."
        return {
            **result,
            "failed": True,
            "msg": f"{args['what']} did not end within {args['limit_s']} s. {where}",
        }

    def _progress(self, path):
        """Return the record, or None before there is one; outlasts a dropped connection."""
        lost = time.monotonic() + _RECONNECT_S
        while True:
            try:
                answer = self._low_level_execute_command(f"cat {shlex.quote(path)}")
                break
            except AnsibleConnectionFailure:
                if time.monotonic() > lost:
                    raise
                self._connection.reset()
                time.sleep(_PERIODS_S[-1])
        try:
            return msgspec.json.decode(answer["stdout"], type=Progress) if answer["rc"] == 0 else None
        except (msgspec.DecodeError, RecursionError):
            return None
