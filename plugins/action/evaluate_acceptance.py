# SPDX-License-Identifier: Apache-2.0
"""Action ``evaluate_acceptance``: fails if acceptance leaves no GPU for jobs."""

from pathlib import Path
from typing import Any

from rekindle import acceptance
from rekindle.actions.base import Action
from rekindle.host import folders
from rekindle.records import Complaint
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.records.layout import acceptance_in, plan_in, verdict_in


class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the verdict, and any measurements."""
        folder = Path(args["folder"])
        plan = plan_in(folder)
        verdict = verdict_in(folder / next(job for job in plan.jobs if job in ACCEPTANCE.values()))
        if args["gate"] == "off" or verdict.verdict not in {"FAIL", "HUNG"}:
            return {"msg": "No GPU failed."}
        message = f"{verdict.job} is {verdict.verdict}: {verdict.cause}"
        if (folder / folders.ACCEPTANCE_RECORD).exists():
            record = acceptance_in(folder)
            if args["gate"] == "faults" and verdict.verdict == "FAIL" and acceptance.is_only_slow(record):
                return {"msg": f"{message} Jobs run, as no result of its GPUs is wrong."}
            out = acceptance.find_failed_gpus(record)
            if args["gate"] == "gpu" and len(out) < len(record.gpus):
                return {"msg": f"{len(out)} of {len(record.gpus)} GPUs failed, and jobs run on the others."}
        raise Complaint(message, str(verdict.remedy))
