"""Action ``place_job``: what a job's run needs on the host, or the verdict that it cannot run there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from rekindle import acceptance, jobs, records
from rekindle.actions.base import REQUIRED, Action
from rekindle.host import folders, payload
from rekindle.host.places import JOBS
from rekindle.jobs import checkout, lease
from rekindle.records.folders import acceptance_in, env_in, host_in, images_in, plan_in
from rekindle.results import home, state


class ActionModule(Action):
    """Arguments: ``folder`` (of the host's records), ``job``, ``arguments`` (by job), ``tmpdir``; ``payload``
    there; ``rerun``, whether it runs in any case; ``gate``, what failed GPUs keep from jobs; ``checkout``
    of NVFlare, from which an example came.

    Returns ``spec``, and ``run``: its folder on the host, named by what is run, so that it is found again.
    """

    ARGUMENTS = {
        "folder": REQUIRED,
        "job": REQUIRED,
        "tmpdir": REQUIRED,
        "arguments": {"type": "dict", **REQUIRED},
        "payload": REQUIRED,
        "rerun": {"type": "bool", **REQUIRED},
        "checkout": REQUIRED,
        "gate": {"choices": ["host", "gpu", "off"], **REQUIRED},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Write the job's placed.json; one that cannot run, or not in time, gets its verdict.json instead."""
        folder = Path(args["folder"])
        host, plan, env = host_in(folder), plan_in(folder), env_in(folder)
        job = jobs.load_job(JOBS, plan.own.get(args["job"], args["job"]))
        arguments = args["arguments"].get(jobs.asked_as(job), {})
        job = jobs.with_arguments(job, json.loads(json.dumps(arguments)))
        if job.federated and args["gate"] == "gpu":
            host = _without_failed(host, folder)
        elif not job.federated:
            job = msgspec.structs.replace(job, required=args["gate"] != "off")
        verdict = folder / job.name / folders.VERDICT
        from_checkout = job.example is not None and job.example.folder is not None
        source = checkout.named(args["checkout"], plan.nvflare) if from_checkout else None
        prepared = jobs.prepare(job, host, plan, env, _tmpdir(args["tmpdir"], host))
        if source and (lack := source.lacks(job)):
            prepared = jobs.without_a_run(job, host.host, "UNSUPPORTED", lack.says, lack.fix)
        image = jobs.image_of(job)
        if image and isinstance(prepared, records.RunSpec):
            prepared = _in_image(prepared, folder, image)
        if isinstance(prepared, records.RunSpec):
            versions = {**prepared.versions}
            if source:
                versions["examples"] = source.commit
            elif path := plan.own.get(job.name):
                versions["code"] = payload.digest(Path(path).parent)
            prepared = msgspec.structs.replace(prepared, versions=versions)
        if isinstance(prepared, records.RunSpec):
            brought = Path(args["payload"]).name
            run = f"{host.root}/{folders.RUNS}/{job.name}-{jobs.digest(prepared, brought)}"
            prepared = jobs.within(prepared, lease.ends(folder))
        if isinstance(prepared, records.VerdictRecord):
            if prepared.verdict == "UNSUPPORTED":  # of one that is SKIPPED an earlier run may still come home
                home.placed_in(folder, job.name).unlink(missing_ok=True)
            records.write(verdict, prepared)
            home.put_seal(verdict.parent, prepared)
            return {}
        spec = state.agree(run, prepared, again=args["rerun"])
        placed = records.PlacedRecord(run=run, payload=args["payload"], spec=spec)
        records.write(home.placed_in(folder, job.name), placed)
        _forget(verdict)
        return {"spec": records.to_builtins(spec), "run": run}


def _in_image(spec: records.RunSpec, folder: Path, image: str) -> records.RunSpec | records.VerdictRecord:
    """Return ``spec`` with the digest of the image that it runs in, or the verdict that the host lacks it."""
    images = images_in(folder).images if (folder / folders.IMAGES_RECORD).is_file() else ()
    entry = next((entry for entry in images if entry.name == image), None)
    if entry and entry.id:
        return msgspec.structs.replace(spec, versions={**spec.versions, "image id": entry.id})
    says = (entry and entry.says) or f"Nobody has looked whether {spec.host} has the image {image}."
    fix = (entry and entry.fix) or "Run playbooks/containers.yml."
    return jobs.without_a_run(spec.job, spec.host, "UNSUPPORTED", says, fix)


def _without_failed(host: records.HostRecord, folder: Path) -> records.HostRecord:
    """Return ``host`` with the GPUs that failed their acceptance as ones that no job runs on."""
    if not (folder / folders.ACCEPTANCE_RECORD).exists():
        return host
    out = acceptance.failed_gpus(acceptance_in(folder))
    failed = {"state": "error", "says": "It failed its acceptance."}
    gpus = (msgspec.structs.replace(gpu, **failed) if gpu.uuid in out else gpu for gpu in host.gpus)
    return msgspec.structs.replace(host, gpus=tuple(gpus))


def _tmpdir(given: str, host: records.HostRecord) -> str:
    """Return TMPDIR there; outside of Rekindle's root a folder of our own, which retire.yml removes."""
    folder = given.replace("~", host.home, 1) if given.startswith("~/") else given
    inside = Path(folder).is_relative_to(host.root)
    return folder if inside else f"{folder}/rekindle-{host.user}"


def _forget(verdict: Path) -> None:
    """Remove a verdict other than PASS, as the job starts anew and may end without another."""
    try:
        passed = records.read(verdict, records.VerdictRecord).verdict == "PASS"
    except records.RecordError:
        passed = False
    if not passed:
        verdict.unlink(missing_ok=True)
        home.seal_of(verdict.parent).unlink(missing_ok=True)
