# SPDX-License-Identifier: Apache-2.0
"""What a run of a job needs on a host and within a lease, and a forecast for a host's jobs."""

import hashlib
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from rekindle import records
from rekindle.host import folders
from rekindle.host.archive import FILE_LIMIT
from rekindle.host.payload import read_job_files
from rekindle.records import (
    Complaint,
    HostRecord,
    Job,
    PlanRecord,
    RunSpec,
    Site,
    VerdictKind,
    VerdictRecord,
    make_bare_verdict,
)
from rekindle.records.plan import has_torch

from .containers import choose_engine, require_engine
from .lease import explain_too_short, find_allowance
from .placement import PlacementError, assign_gpus, require_release

_NOTED = ("torch", "lightning", "transformers", "peft", "trl", "tensorflow", "nvflare", "numpy")
"""Packages whose versions matter to a result."""
_PATIENCE_S = 600
"""Silence that is allowed while kernels are compiled from PTX or a model is downloaded."""


def prepare_spec(  # noqa: PLR0913, PLR0917 - each is a part of what is prepared
    job: Job,
    host: HostRecord,
    plan: PlanRecord,
    env: records.EnvRecord,
    tmpdir: str,
    sites: tuple[Site, ...] = (),
) -> RunSpec:
    """Return what the driver needs to run ``job`` on ``host``, or as one of the hosts that are ``sites``.

    Raises:
        PlacementError: it cannot run there.
    """
    name = choose_environment(job, [planned.framework for planned in plan.environments])
    environment = next((built for built in env.environments if built.framework == name), None)
    if environment is None:
        refusals = [planned.refusal for planned in plan.environments if planned.framework == name]
        cause = (refusals[0] if refusals else None) or f"{host.host} has no {name} environment."
        raise PlacementError(cause, "Take one of the ways out that the plan names.")
    federated, sites = bool(sites), sites or place_sites(job, host, plan)
    given = {uuid for site in sites for uuid in site.gpus if site.node in {None, host.host}}
    packages = {**environment.system_site, **environment.packages}
    engine = choose_engine(host) if job.image else None
    if engine and job.image:
        versions = {"image": job.image, "engine": engine.title}
    else:
        versions = {name: packages[name] for name in _NOTED if name in packages}
        versions = {"python": environment.python_version, **versions}
    return RunSpec(
        host=host.host,
        job=replace(job, sites=len(sites)),
        sites=sites,
        gpus=tuple(
            records.GivenGpu(
                uuid=gpu.uuid,
                index=gpu.index,
                name=gpu.name,
                memory_mib=gpu.memory_total_mib,
                processes=gpu.processes,
            )
            for gpu in host.gpus
            if gpu.uuid and gpu.uuid in given
        ),
        python=environment.python,
        lock_sha256=environment.lock_sha256,
        allocation=host.allocation,
        engine=engine,
        versions={**versions, **({} if federated else describe_hardware(host, given))},
        tmpdir=tmpdir,
        cache=f"{host.root}/{folders.CACHE}",
        silence_s=_silence_s(job, plan, name),
        cross_device_ops=environment.probe.get("cross_device_ops"),
    )


def describe_hardware(host: HostRecord, gpus: Collection[str | None]) -> dict[str, str]:
    """Return what a run on these ``gpus`` of a host depends on below its environment: driver, VBIOS and boot.

    The next run in an allocation may have another node, whose VBIOS and boot are not known.
    """
    vbios = sorted({gpu.vbios for gpu in host.gpus if gpu.vbios and gpu.uuid in gpus})
    found = {"driver": host.driver.version if host.driver else None}
    if not host.allocation:
        found |= {"vbios": ", ".join(vbios), "boot": host.boot}
    return {name: text for name, text in found.items() if text and gpus}


def choose_environment(job: Job, frameworks: Iterable[str]) -> str:
    """Return which of the environments for ``frameworks`` a job runs in.

    One that measures runs in any with torch, others in their own; the plain one is left where its lock has
    what they require.
    """
    names = tuple(frameworks)
    with_torch = (name for name in names if has_torch(name))
    own = job.packaged if job.packaged in names else job.environment
    return own if job.federated else next(with_torch, own)


def place_sites(job: Job, host: HostRecord, plan: PlanRecord) -> tuple[Site, ...]:
    """Return the sites of ``job`` with their GPUs on ``host``, under its plan.

    Raises:
        PlacementError: it cannot run there.
    """
    require_release(job, plan.nvflare)
    require_engine(job, host)
    return assign_gpus(job, host)


def limit_spec(spec: RunSpec, left_s: float | None) -> RunSpec:
    """Return ``spec`` with at most the time that is left of a lease, if it has one, or in its allocation.

    Raises:
        TooLateError: that is too little.
    """
    limit = find_allowance(spec.job, left_s, spec.allocation)
    if limit is None:
        raise explain_too_short(spec.job, left_s, spec.allocation)
    return replace(spec, job=replace(spec.job, limit_s=limit))


def digest_inputs(spec: RunSpec, payload: str) -> str:
    """Return a digest of this run's inputs: its spec, and the payload with the code.

    The nonce and figures of GPUs and links are not inputs; ``sites`` names the GPUs.
    """
    member = spec.member and replace(spec.member, measured={})
    what = records.dump_builtins(replace(spec, nonce="", clock=None, files={}, gpus=(), member=member))
    return hashlib.sha256(msgspec.json.encode(what) + payload.encode()).hexdigest()[:12]


def _silence_s(job: Job, plan: PlanRecord, environment: str) -> int:
    compiles = any(entry.first_compile for entry in plan.environments if entry.framework == environment)
    model = str(job.arguments.get("model_name_or_path", "/"))
    expected = compiles or not model.startswith("/")
    return max(job.silence_s, _PATIENCE_S) if expected else job.silence_s


def make_verdict(job: Job, host: str, verdict: VerdictKind, cause: str, remedy: str) -> VerdictRecord:
    """Return the verdict on a job that has no run to judge."""
    bare = make_bare_verdict(job.name, host, verdict, cause, remedy)
    return replace(bare, required=job.required)


def read_code(payload: Path, job: Job) -> dict[str, bytes]:
    """Return the files of the code of ``job`` in the payload, by their names in its folder.

    Raises:
        RecordError: the payload is missing or damaged.
    """
    try:
        return dict(read_job_files(payload, job.code or job.name))
    except (OSError, zipfile.BadZipFile):
        fix = "run playbooks/environments.yml again."
        raise records.RecordError(f"{payload} is missing or damaged.", fix) from None


def digest_code(files: dict[str, bytes], job: Job, *, on_gpus: bool) -> dict[str, str]:
    """Return the SHA-256 of each file once the run has mended it; empty for one too large to be collected.

    Raises:
        PlacementError: there are no files.
    """
    if not files:
        untracked = f"No code of {job.name} was sent to the host, as git tracks none of its files."
        raise PlacementError(untracked, "git add them.")
    changed = dict(files)
    for mend in job.example.mends if job.example else ():
        if mend.file in changed and (mend.where == "anywhere" or not on_gpus):
            # The run reads it as text, in which a line ends with \n.
            text = changed[mend.file].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            changed[mend.file] = text.replace(mend.before.encode(), mend.after.encode())
    return {
        name: hashlib.sha256(content).hexdigest() if len(content) <= FILE_LIMIT else ""
        for name, content in changed.items()
    }


class Forecast(NamedTuple):
    """The forecast for a job."""

    job: Job
    refusal: Complaint | None
    late: Complaint | None
    """Why the lease is too short for it, after those before it, or what is asked for."""


def foresee_jobs(
    jobs: Iterable[Job], host: HostRecord, plan: PlanRecord, left_s: float | None
) -> list[Forecast]:
    """Return the forecast for each of ``jobs``, in their order.

    Args:
        jobs: each takes its expected time.
        host: what preflight found.
        plan: what was decided for it.
        left_s: seconds until the lease ends, without time to build; None if that is not known.
    """
    foreseen = []
    for job in jobs:
        refusal, late = _refusal(job, host, plan), None
        if refusal is None and find_allowance(job, left_s, host.allocation) is None:
            late = explain_too_short(job, left_s, host.allocation)
        elif refusal is None and left_s is not None:
            left_s -= job.expected_s
        foreseen.append(Forecast(job, refusal, late))
    return foreseen


def find_stops(
    jobs: Iterable[Job], host: HostRecord, plan: PlanRecord, left_s: float | None
) -> list[Complaint]:
    """Return why each required one of ``jobs`` would not run; none if all would.

    The arguments are those of `foresee_jobs`.
    """
    required = [foreseen for foreseen in foresee_jobs(jobs, host, plan, left_s) if foreseen.job.required]
    return [why for foreseen in required if (why := foreseen.refusal or foreseen.late)]


def _refusal(job: Job, host: HostRecord, plan: PlanRecord) -> Complaint | None:
    if job.name in plan.lacking:
        return Complaint.parse(plan.lacking[job.name])
    name = choose_environment(job, [planned.framework for planned in plan.environments])
    for planned in plan.environments:
        if planned.framework == name and planned.refusal:
            return Complaint.parse(planned.refusal)
    try:
        place_sites(job, host, plan)
    except PlacementError as error:
        return error
    return None
