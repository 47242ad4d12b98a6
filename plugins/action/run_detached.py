# SPDX-License-Identifier: Apache-2.0
"""Action ``run_detached``: starts work that outlives its session on the host, and shows its progress."""

import os
import secrets
import shlex
import time
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.utils.display import Display

from rekindle.actions.answers import make_command
from rekindle.actions.base import Action
from rekindle.actions.limits import limit_action, limit_time
from rekindle.doctor.subjects import find_fix
from rekindle.host import folders
from rekindle.hostfacts import frames
from rekindle.jobs import lease
from rekindle.records import (
    Complaint,
    LastProgress,
    Progress,
    RecordError,
    decode_json,
    format_time,
    write_record,
)
from rekindle.records.complaint import quote_host
from rekindle.records.layout import host_in
from rekindle.records.text import fold_line

_START_S = 300
_PERIODS_S = (0.2, 0.5, 1.0, 2.0)
"""Between two polls; the last one repeats."""

_QUEUE_S = 24 * 3600
_POLL = ("-B", "-S", "-c", "from rekindle.host.look import main; main()")
"""Leaves no bytecode there; ``-m`` and the site's packages would take longer to import than the poll."""
_POLL_S = 60
"""For one poll. A host that takes longer, as its disk hangs, is out of reach."""


@limit_action
class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Start and follow it; returns the ``result`` that the record ends with."""
        started = self._start(args, task_vars) if args["start"] else {}
        if started.get("failed"):
            return started
        if args["until"] == "started":
            return {"changed": started.get("stdout") == "started"}
        ends, lost_after_s = lease.find_end(Path(args["home"])), args["reconnect_s"]
        nonce = secrets.token_hex(8)
        poll = shlex.join([args["python"], *_POLL, args["lock"], args["progress"], nonce])
        poll = f"PYTHONPATH={shlex.quote(args['payload'])} {poll}"
        what, shown, last = args["what"], "", None
        fresh, runs = started.get("stdout") == "started", args["until"] == "runs"
        queued = began = time.monotonic()
        polls, parent, queues = 0, os.getppid(), _has_queue(Path(args["home"]))
        while time.monotonic() - began < args["limit_s"] and os.getppid() == parent:
            left = lost_after_s if ends is None else (ends - datetime.now(timezone.utc)).total_seconds()
            reconnect_s = max(0, min(lost_after_s, left))
            held, progress = self._poll(poll, nonce, reconnect_s, what, last)
            if progress is not None and progress.state == "waiting" and queues:
                began = self._wait(args, progress, queued, left if ends else None) or began
            if progress is not None:
                if progress.message not in {shown, ""} and progress.state != "failed":
                    shown = progress.message
                    _show(task_vars["inventory_hostname"], args, progress)
                if progress.state == "failed":
                    says = quote_host(fold_line(progress.message))
                    raise Complaint(says, find_fix(says))
                if progress.state == "ended" or (runs and progress.state == "running"):
                    if runs and fresh and progress.state == "ended":
                        raise Complaint(
                            f"{what} ended before it began at the other hosts: {fold_line(shown)}"
                        )
                    changed = progress.changed or started.get("stdout") == "started"
                    return {"changed": changed, "result": progress.result}
                last, fresh = progress, True
            if held is False:
                raise _killed(what, last, args["progress"])
            time.sleep(_PERIODS_S[min(polls, len(_PERIODS_S) - 1)])
            polls += 1
        where = f"read the logs beside {args['progress']} on the host."
        raise Complaint(f"{what} did not end within {args['limit_s']} s.", where)

    def _wait(
        self, args: dict[str, Any], progress: Progress, since: float, left_s: float | None
    ) -> float | None:
        """Return the time now; None if it has waited for too long, and is followed on for its limit alone.

        Raises:
            Failed: others would wait for it; it was taken out of SLURM's queue.
        """
        now, late = time.monotonic(), left_s is not None and left_s < args["needs_s"]
        if now - since < _QUEUE_S and not late:
            return now
        if args["until"] != "runs":
            return None
        run = str(Path(args["progress"]).parent)
        cancel = make_command(args["python"], args["payload"], "rekindle.driver", "cancel", run)
        self._low_level_execute_command(cancel)
        why = f"SLURM gave {args['what']} no node within {now - since:.0f} s: {fold_line(progress.message)}."
        raise Complaint(
            why, "ask rekindle_slurm for what sinfo has free, or give it more time (lease_ends, budget)."
        )

    def _start(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        command = {"argv": args["start"], "stdin": args["stdin"]}
        try:
            with limit_time(_START_S):
                started = self._execute_module("ansible.legacy.command", command, task_vars=task_vars)
        except TimeoutError as error:
            raise Complaint(f"{args['what']} was not started: {error}.", "see why the host hangs.") from None
        return dict(started)

    def _poll(
        self, command: str, nonce: str, reconnect_s: float, what: str, last: Progress | None
    ) -> tuple[bool | None, Progress | None]:
        """Return whether the lock is held and the record, None for what is not known; outlasts a dropped
        connection and a host that does not answer, or answers something else.
        """
        lost = time.monotonic() + reconnect_s
        while True:
            try:
                with limit_time(_POLL_S):
                    answer = self._low_level_execute_command(command)
                parsed = frames.parse_frames(answer["stdout"], nonce)
                break
            except (AnsibleConnectionFailure, TimeoutError, frames.FactsError) as error:
                if time.monotonic() > lost:
                    seen = f"last seen at {_seen(last)}" if last else "never seen"
                    raise AnsibleConnectionFailure(f"{what} was {seen}; the host is lost: {error}") from error
                with suppress(TimeoutError), limit_time(_POLL_S):
                    self._connection.reset()
                time.sleep(_PERIODS_S[-1])
        held = "held" in parsed if "held" in parsed or "free" in parsed else None
        try:
            return held, decode_json(parsed["record"].text, Progress)
        except (frames.FactsError, RecordError):
            return held, None


def _has_queue(home: Path) -> bool:
    """Whether work waits for nodes on a host: not if its record in results/<host> has no allocation."""
    with suppress(RecordError):
        return host_in(home).allocation is not None
    return True


def _show(host: str, args: dict[str, Any], progress: Progress) -> None:
    Display().display(f"{host} {args['what']}: {_seen(progress)}")
    seen = LastProgress(what=args["what"], message=fold_line(progress.message), at=format_time())
    with suppress(OSError):  # reports then have less
        write_record(Path(args["home"], folders.SEEN_RECORD), seen)


def _seen(progress: Progress) -> str:
    return f"{fold_line(progress.message)}, {progress.elapsed_s:.0f} s"


def _killed(what: str, last: Progress | None, path: str) -> Complaint:
    seen = f"last seen at {_seen(last)}" if last else "never seen"
    return Complaint(
        f"{what} was killed before it could record its end, by a reboot, for lack of memory or by hand "
        f"({seen}).",
        f"run the play again, which starts it again; if it dies again, see the logs by {path}.",
    )
