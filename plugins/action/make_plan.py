# SPDX-License-Identifier: Apache-2.0
"""Action ``make_plan``: turns the host's host.json into its plan.json."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rekindle import capsule, locks, records
from rekindle.actions.base import Action
from rekindle.capsule import wheelhouse
from rekindle.capsule.packages import add_packages
from rekindle.gpus.visibility import find_usable_gpus
from rekindle.host import folders
from rekindle.host.paths import JOBS
from rekindle.jobs import (
    OwnJob,
    checkout,
    choose_environment,
    expand_names,
    find_missing,
    find_stops,
    foresee_jobs,
    lease,
    load_job,
    read_own,
    refuse_unread,
    resolve_own,
)
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.solver import solve_plan

locks.read_lock(
    locks.DRIVER
)  # read once, as each task has a process of its own that begins with what is known


class ActionModule(Action):
    """plugins/modules has its documentation."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Write plan.json; fail if no job's environment can be built, or not from the wheelhouse.

        Under check, where this is the ``last`` stage, fail if a required job could not run, or not in time.
        """
        path = Path(args["folder"], folders.HOST_RECORD)
        host = records.read_record(path, records.HostRecord)
        gpus = [gpu for gpu in find_usable_gpus(host) if gpu.uuid]
        measures = args["accept"] in ACCEPTANCE and gpus and not host.allocation
        first = [ACCEPTANCE[args["accept"]]] if measures else []
        names, federated = [*first, *args["jobs"]], args["federated"]
        users = {name: read_own(JOBS, at) for name in (*names, *federated) if (at := resolve_own(name))}

        def load(name: str) -> records.Job:
            return users[name].job if name in users else load_job(JOBS, name)

        asked = {name: load(name) for name in expand_names(JOBS, names)}
        over_hosts = {name: load(name) for name in expand_names(JOBS, federated)}
        loaded = sorted(asked.values(), key=lambda job: -job.priority)
        every = [*loaded, *over_hosts.values()]
        execute = self._low_level_execute_command
        lacks = [(job, find_missing(job, job.sites, host.host, execute)) for job in loaded]
        if any(job.example and job.example.folder for job in every):
            source = checkout.provide_checkout(args["checkout"], args["nvflare"])
            source.require(every)
            lacks += [(job, source.lacks(job)) for job in every]
        lacking = {job.name: str(lack) for job, lack in lacks if lack}
        needed = [job.packaged for job in every if job.federated] + args["frameworks"]
        needed += [choose_environment(job, needed) for job in loaded]
        kept = Path(args["capsule"]) if args["capsule"] else None
        of_capsule = capsule.list_frameworks(kept) if kept else {}
        plan = solve_plan(
            host,
            list(dict.fromkeys(needed)),
            gpus_required=args["gpus_required"],
            pins={**of_capsule, **args["pins"]},
            system_site=args["system_site"],
            nvflare=args["nvflare"],
            jobs=[job.name for job in loaded],
            made=records.format_time(),
        )
        plan = add_packages(plan, host, every, path.parent, of_capsule)
        own = {one.job.name: str(resolve_own(name)) for name, one in users.items()}
        lacking |= dict(_find_unread(plan, users.values()))
        plan = replace(
            plan, own=own, lacking=lacking, federated=tuple(job.name for job in over_hosts.values())
        )
        could = [
            foreseen.job for foreseen in foresee_jobs(loaded, host, plan, None) if foreseen.refusal is None
        ]
        plan = replace(plan, images=tuple(dict.fromkeys(job.image for job in could if job.image)))
        if kept:
            plan = capsule.apply_capsule(plan, host, kept)
        records.write_record(path.with_name(folders.PLAN_RECORD), plan)
        if plan.federated and not self._task.check_mode:
            joint = replace(plan, host=folders.FEDERATIONS, environments=(), jobs=plan.federated, images=())
            records.write_record(path.parents[1] / folders.FEDERATIONS / folders.PLAN_RECORD, joint)
        refusals = [entry.refusal for entry in plan.environments if entry.refusal]
        if not any(entry.build for entry in plan.environments):
            raise records.Complaint.join(map(records.Complaint.parse, refusals))
        if args["wheelhouse"]:
            wheelhouse.require_files(path.parent, plan, host, Path(args["wheelhouse"]), kept)
        if self._task.check_mode and args["last"]:
            left_s = lease.measure_left(path.parent)
            if reasons := find_stops(loaded, host, plan, left_s):
                raise records.Complaint.join(reasons)
        return {"warnings": [*refusals, *(text for entry in plan.environments for text in entry.warnings)]}


def _find_unread(plan: records.PlanRecord, users: Iterable[OwnJob]) -> Iterator[tuple[str, str]]:
    """Yield the jobs whose script is no Python, each with where and why."""
    pythons = {one.framework: one.build.python_version for one in plan.environments if one.build}
    for one in users:
        python = pythons.get(choose_environment(one.job, pythons))
        if python and (unread := refuse_unread(one.source, python)):
            yield one.job.name, str(unread)
