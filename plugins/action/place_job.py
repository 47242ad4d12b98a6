# SPDX-License-Identifier: Apache-2.0
"""Action ``place_job``: the spec of a job's run on the host, or the verdict that it cannot run there."""

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rekindle import acceptance, jobs, records
from rekindle.actions import answers, clock
from rekindle.actions.base import Action, strip_tags
from rekindle.actions.limits import limit_action
from rekindle.host import folders, payload
from rekindle.host.paths import resolve_path
from rekindle.jobs import checkout, lease
from rekindle.jobs.preparation import digest_code, read_code
from rekindle.records.base import read_valid
from rekindle.records.layout import acceptance_in, env_in, host_in, images_in, plan_in
from rekindle.results import collection, seal, state
from rekindle.results.contents import locate_placed

if TYPE_CHECKING:
    from rekindle.federation.placement import Members


@limit_action
class ActionModule(Action):
    """Returns ``spec``, ``run``: its folder on the host, by its inputs, and whether it ``passed`` there."""

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Write the job's placed.json; one that does not run gets its verdict.json instead."""
        folder = Path(args["folder"])
        host, plan, env = host_in(folder), plan_in(folder), env_in(folder)
        job = _job(args, plan)
        if job.federated and args["gate"] == "gpu":
            host = _without_failed(host, folder)
        try:
            sent = read_code(folder.parent / "payload" / Path(args["payload"]).name, job)
            code = _code(job, plan, args["checkout"], sent)
            members = _find_members(args, task_vars) if args["server"] else None
            sites = members.sites(job) if members else ()
            spec = jobs.prepare_spec(job, host, plan, env, _tmpdir(args["tmpdir"], host), sites)
            if members:
                spec = replace(
                    spec,
                    member=members.member(host.host),
                    versions={**spec.versions, **members.hardware()},
                )
            if not job.federated and args["norms"]:
                spec = replace(spec, norms=acceptance.read_norms(resolve_path(args["norms"])))
            spec = replace(
                spec,
                files=digest_code(sent, job, on_gpus=bool(spec.gpus)),
                versions={**spec.versions, **code, **_image(job, folder, host)},
            )
            if lack := jobs.find_missing(job, len(spec.sites), host.host, self._low_level_execute_command):
                raise lack
            inputs = jobs.digest_inputs(spec, Path(args["payload"]).name)
            run = f"{host.root}/{folders.RUNS}/{job.name}-{inputs}"
            spec = jobs.limit_spec(spec, lease.measure_left(folder))
        except jobs.NoRunError as reason:
            home = folder.parent / folders.FEDERATIONS if args["server"] else folder
            _refuse(home, jobs.make_verdict(job, home.name, reason.verdict, reason.message, reason.fix))
            return {}
        oldest = lease.find_oldest(args["max_age"], datetime.now(timezone.utc))
        if members:
            from rekindle.federation import parts, placement  # noqa: PLC0415 - few jobs are over several hosts

            spec = replace(spec, clock=self._clock(args["python"]))
            name, shared = placement.take_common(spec, Path(args["payload"]).name)
            nonce = state.agree_nonce(name, shared, again=args["rerun"], oldest=oldest).nonce
            spec = state.find_sent_spec(run, replace(spec, nonce=nonce))
            target, finished = parts.locate_placed_part(folder, job.name), False
        else:
            spec = state.agree_nonce(run, spec, again=args["rerun"], oldest=oldest)
            finished = spec.clock is not None and not args["rerun"] and self._finished(args, run, spec.nonce)
            if spec.clock is None:
                spec = replace(spec, clock=self._clock(args["python"]))
                state.keep_spec(run, spec)
            target = locate_placed(folder, job.name)
            _forget(folder / job.name / folders.VERDICT, spec.nonce)
        placed = records.PlacedRecord(run=run, payload=args["payload"], spec=spec, at=records.format_time())
        records.write_record(target, placed)
        return {"spec": records.dump_builtins(spec), "run": run, "finished": finished}

    def _clock(self, python: str) -> records.Clock:
        now = clock.ask_clock(self._low_level_execute_command, python)
        if now is None:
            raise records.Complaint(
                "The host does not report its time.", f"see why {python} does not run there."
            )
        return now

    def _finished(self, args: dict[str, Any], run: str, nonce: str) -> bool:
        """Whether a run that was sent before has ended well there: the host would start nothing."""
        command = answers.make_command(args["python"], args["payload"], "rekindle.driver.outcome", run, nonce)
        return clock.take_last_line(self._low_level_execute_command(command)) == "finished"


def _find_members(args: dict[str, Any], task_vars: dict[str, Any]) -> "Members":
    from rekindle.federation.placement import Members  # noqa: PLC0415 - as above

    results, present = Path(args["folder"]).parent, task_vars["ansible_play_hosts"]
    return Members(results, args["server"], args["sites"], present, args["min_sites"])


def _job(args: dict[str, Any], plan: records.PlanRecord) -> records.Job:
    """Return the job with the inventory's arguments; one that measures is required if there is a gate."""
    job = jobs.load_planned_job(plan, args["job"])
    given = (args[name].get(jobs.name_arguments(job), {}) for name in ("arguments", "sizes"))
    arguments, sizes = map(strip_tags, given)
    job = jobs.set_sizes(jobs.set_arguments(job, arguments), sizes)
    return job if job.federated else replace(job, required=args["gate"] != "off")


def _code(job: records.Job, plan: records.PlanRecord, setting: str, sent: dict[str, bytes]) -> dict[str, str]:
    """Return the version of the job's code, with files ``sent`` to the host, unless it is ours.

    Raises:
        NoRunError: the example was removed from the checkout of NVFlare.
    """
    if job.example and job.example.folder:
        source = checkout.provide_checkout(setting, plan.nvflare)
        if lack := source.lacks(job):
            raise lack
        return {"examples": source.version(job, sent)}
    path = plan.own.get(job.name)
    return {"code": payload.digest_payload(jobs.locate_folder(Path(path)))} if path else {}


def _image(job: records.Job, folder: Path, host: records.HostRecord) -> dict[str, str]:
    """Return the job's image, if it has one.

    Raises:
        NoRunError: the host lacks it.
    """
    if job.image is None:
        return {}
    known = (folder / folders.IMAGES_RECORD).is_file()
    return {"image id": jobs.find_image_id(job.image, images_in(folder).images if known else (), host.host)}


def _without_failed(host: records.HostRecord, folder: Path) -> records.HostRecord:
    """Return ``host`` with the GPUs that failed their acceptance marked as in error."""
    if not (folder / folders.ACCEPTANCE_RECORD).exists():
        return host
    out = acceptance.find_failed_gpus(acceptance_in(folder))
    failed = {"state": "error", "message": "It failed its acceptance."}
    gpus = (replace(gpu, **failed) if gpu.uuid in out else gpu for gpu in host.gpus)
    return replace(host, gpus=tuple(gpus))


def _tmpdir(given: str, host: records.HostRecord) -> str:
    """Return TMPDIR there; outside of Rekindle's root a folder of our own, which retire.yml removes."""
    folder = given.replace("~", host.home, 1) if given.startswith("~/") else given
    inside = Path(folder).is_relative_to(host.root)
    return folder if inside else f"{folder}/rekindle-{host.user}"


def _refuse(folder: Path, verdict: records.VerdictRecord) -> None:
    """Write the verdict on a job that does not run; if SKIPPED, an earlier run may yet be collected."""
    if verdict.verdict == "UNSUPPORTED":
        locate_placed(folder, verdict.job).unlink(missing_ok=True)
    records.write_record(folder / verdict.job / folders.VERDICT, verdict)
    seal.seal_run(folder / verdict.job)


def _forget(verdict: Path, nonce: str) -> None:
    """Set aside a run that did not pass, as the job starts again and may end without another verdict."""
    last = read_valid(verdict, records.VerdictRecord)
    if last and last.verdict == "PASS":
        return
    collection.move_aside(verdict.parent, nonce)
    if verdict.exists():
        verdict.unlink()
        seal.forget_run(verdict.parent)
