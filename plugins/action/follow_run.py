"""Action ``follow_run``: shows a run's progress until its driver has judged it."""

from __future__ import annotations

import shlex
import time

import msgspec
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from rekindle.records import Progress

_PERIOD_S = 2
_JUDGING_S = 60
_RECONNECT_S = 300
"""How long a host may be out of reach before it counts as lost."""


class ActionModule(ActionBase):
    """Arguments: ``run`` (folder on the host), ``job``, ``limit_s`` (the driver's own limit)."""

    def run(self, tmp=None, task_vars=None):
        """Follow; fails only if the driver outlives its limit, as judging is the driver's task."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "run": {"required": True},
                "job": {"required": True},
                "limit_s": {"type": "int", "required": True},
            }
        )
        who = f"{task_vars['inventory_hostname']} {args['job']}"
        shown, began = "", time.monotonic()
        while time.monotonic() - began < args["limit_s"] + _JUDGING_S:
            progress = self._progress(args["run"])
            if progress is not None:
                line = _line(progress)
                if line != shown:
                    Display().display(f"{who}: {line}, {progress.elapsed_s:.0f} s")
                    shown = line
                if progress.state == "ended":
                    return result
            time.sleep(_PERIOD_S)
        limit = args["limit_s"] + _JUDGING_S
        where = f"Fix: read driver.log in {args['run']}."
        msg = f"The driver of {args['job']} gave no verdict within {limit} s. {where}"
        return {**result, "failed": True, "msg": msg}

    def _progress(self, run):
        """Return the run's progress, or None before there is one; outlasts a dropped connection."""
        lost = time.monotonic() + _RECONNECT_S
        while True:
            try:
                answer = self._low_level_execute_command(f"cat {shlex.quote(run)}/progress.json")
                break
            except AnsibleConnectionFailure:
                if time.monotonic() > lost:
                    raise
                self._connection.reset()
                time.sleep(_PERIOD_S)
        if answer["rc"] != 0:
            return None
        try:
            return msgspec.json.decode(answer["stdout"], type=Progress)
        except msgspec.DecodeError:
            return None


def _line(progress):
    if progress.round is None:
        return {"running": "starting", "judging": "judging", "ended": "ended"}[progress.state]
    loss = "" if progress.loss is None else f", loss {progress.loss:.4f}"
    done = f"round {progress.round + 1}/{progress.rounds}{loss}"
    return done if progress.state == "running" else f"{progress.state} after {done}"
