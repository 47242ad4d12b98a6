"""Action ``place_job``: what a job's run needs on the host, or the verdict that it cannot run there."""

from __future__ import annotations

import json
from pathlib import Path

from ansible.plugins.action import ActionBase

from rekindle import jobs, records
from rekindle.jobs import lease
from rekindle.results import home, state

_JOBS = Path(__file__).parents[2] / "flare_jobs"


class ActionModule(ActionBase):
    """Arguments: ``folder`` (of the host's records), ``job``, ``arguments``, ``tmpdir``; ``payload`` there;
    ``rerun``, whether it runs in any case.

    Returns ``spec``, and ``run``: its folder on the host, named by what is run, so that it is found again.
    """

    def run(self, tmp=None, task_vars=None):
        """Write the job's placed.json; one that cannot run, or not in time, gets its verdict.json instead."""
        result = super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(
            {
                "folder": {"required": True},
                "job": {"required": True},
                "tmpdir": {"required": True},
                "arguments": {"type": "dict", "required": True},
                "payload": {"required": True},
                "rerun": {"type": "bool", "required": True},
            }
        )
        folder = Path(args["folder"])
        try:
            job = jobs.with_arguments(
                jobs.load_job(_JOBS, args["job"]), json.loads(json.dumps(args["arguments"]))
            )
            host = records.read(folder / "host.json", records.HostRecord)
            plan = records.read(folder / "plan.json", records.PlanRecord)
            env = records.read(folder / "env.json", records.EnvRecord)
            ends = lease.ends(folder)
        except records.RecordError as error:
            return {**result, "failed": True, "msg": str(error)}
        tmpdir = (
            args["tmpdir"].replace("~", host.home, 1) if args["tmpdir"].startswith("~/") else args["tmpdir"]
        )
        if not Path(tmpdir).is_relative_to(host.root):
            tmpdir = f"{tmpdir}/rekindle-{host.user}"  # a folder of our own, which retire.yml removes
        prepared = jobs.prepare(job, host, plan, env, tmpdir)
        if isinstance(prepared, records.RunSpec):
            payload = Path(args["payload"]).name
            run = f"{host.root}/runs/{job.name}-{jobs.digest(prepared, payload)}"
            prepared = jobs.within(prepared, ends)
        verdict = folder / job.name / "verdict.json"
        try:
            if isinstance(prepared, records.RunSpec):
                spec = state.agree(run, prepared, again=args["rerun"])
                placed = records.PlacedRecord(run=run, payload=args["payload"], spec=spec)
                records.write(home.placed_in(folder, job.name), placed)
                _forget(verdict)
                return {**result, "spec": records.to_builtins(spec), "run": run}
            records.write(verdict, prepared)
            home.put_seal(verdict.parent, prepared)
        except records.RecordError as error:
            return {**result, "failed": True, "msg": str(error)}
        return result


def _forget(verdict):
    """Remove a verdict other than PASS, as the job starts anew and may end without another."""
    try:
        passed = records.read(verdict, records.VerdictRecord).verdict == "PASS"
    except records.RecordError:
        passed = False
    if not passed:
        verdict.unlink(missing_ok=True)
        home.seal_of(verdict.parent).unlink(missing_ok=True)
