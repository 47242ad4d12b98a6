# SPDX-License-Identifier: Apache-2.0
"""The blame ladder: from the GPU up to the job under NVFlare, the first step that fails is to blame."""

import time
from collections.abc import Iterator
from pathlib import Path

import pynvml

from rekindle.environments.probe import ProbeError, probe_environment
from rekindle.flare.launch import Trainers, find_trainers
from rekindle.host import background, files, folders
from rekindle.records import Rung, RunSpec
from rekindle.records.events import ExceptionEvent, RoundEvent
from rekindle.records.evidence import read_lines
from rekindle.records.finding import RungState
from rekindle.records.text import find_last_line

from .autopsy import empty_folder
from .processes import end_descendants

_TRAINING_LIMIT_S = 120.0
_STEPS = ("GPUs visible", "matrix product", "collective", "training alone", "under NVFlare")

_Result = tuple[RungState, str]
"""Of a step, with a sentence."""
_NOT_TRIED: _Result = ("not tried", "Not tried.")


def climb_ladder(run_dir: Path, spec: RunSpec, environ: dict[str, str]) -> tuple[Rung, ...]:
    """Try the steps below a job that failed, from the bottom up to the first that fails.

    Args:
        run_dir: the run that failed; the trainers' evidence goes to ``ladder/`` in it.
        spec: what was run.
        environ: what job.py was started with.
    """
    rungs: list[Rung] = []
    results = _results(run_dir, spec, environ)
    for name in _STEPS:
        began = time.monotonic()
        failed = any(rung.state == "fails" for rung in rungs)
        state, message = _NOT_TRIED if failed else next(results)
        seconds = round(time.monotonic() - began, 2)
        rungs.append(Rung(name=name, state=state, message=message, seconds=seconds))
    return tuple(rungs)


def _results(run_dir: Path, spec: RunSpec, environ: dict[str, str]) -> Iterator[_Result]:
    """Yield the result of each step, which is tried only when its result is requested."""
    if _trained(run_dir, spec):
        for _ in _STEPS[1:]:
            yield ("holds", "Every rank trained a round in this very run.")
    else:
        yield _visible(spec)
        yield from _probed(spec)
        if spec.job.image:
            yield ("not tried", "Trainers are in the container alone.")
        elif not spec.job.assigns_gpus:
            yield ("not tried", "The job's trainers do not train without NVFlare.")
        else:
            yield _alone(run_dir, spec, environ)
    yield ("fails", "This run.")


def _trained(run_dir: Path, spec: RunSpec) -> bool:
    rounds = [line.event for line in read_lines(run_dir) if isinstance(line.event, RoundEvent)]
    ranks = {(site.name, rank) for site in spec.sites for rank in range(site.ranks)}
    return ranks <= {(event.site, event.rank) for event in rounds}


def _gpus(spec: RunSpec) -> list[str]:
    return sorted(spec.gpus_on(next(iter(spec.nodes), None)))


def _visible(spec: RunSpec) -> _Result:
    uuids = _gpus(spec)
    if not uuids:
        return ("not tried", "The job was given no GPU.")
    for uuid in uuids:
        try:
            pynvml.nvmlInit()
            pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByUUID(uuid))
        except pynvml.NVMLError as error:
            return ("fails", f"The driver does not answer for {uuid}: {error}.")
    return ("holds", f"The driver answers for {len(uuids)} GPUs.")


def _probed(spec: RunSpec) -> Iterator[_Result]:
    """Yield the result of the environment's probe for a product, and then for a collective."""
    gpus = _gpus(spec)
    where = f"each of {len(gpus)} GPUs" if gpus else "CPU"
    try:
        report = probe_environment(Path(spec.python), spec.job.environment, gpus, Path(spec.tmpdir))
    except ProbeError as error:
        if error.step == "collective":
            yield ("holds", f"A product on {where} is right.")
        yield ("fails", f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return
    collective = report["collective"]
    yield ("holds", f"A product on {where} is right.")
    yield ("holds", f"An all-reduce of {collective['ranks']} ranks by {collective['backend']} is right.")


def _alone(run_dir: Path, spec: RunSpec, environ: dict[str, str]) -> _Result:
    """Train one round of every site at once, as in the job but without NVFlare."""
    folder = run_dir / folders.LADDER
    empty_folder(folder)
    evidence, log = folder / folders.EVIDENCE, folder / "training.log"
    evidence.mkdir()
    found = find_trainers(run_dir / folders.JOB)
    if not found:
        return ("not tried", "The job died before its trainers' commands were there.")
    in_time = _train(found, {**environ, "REKINDLE_ROUNDS": "1", "REKINDLE_EVIDENCE": str(evidence)}, log)
    if _trained(folder, spec):
        return ("holds", "Every rank trained a round without NVFlare.")
    if not in_time:
        return ("fails", f"No full round within {_TRAINING_LIMIT_S:.0f} s without NVFlare either.")
    events = (line.event for line in read_lines(folder))
    raised = next((event for event in events if isinstance(event, ExceptionEvent)), None)
    if raised is not None:
        return ("fails", f"Without NVFlare too, {raised.who} raised {raised.kind}: {raised.message}.")
    last = find_last_line(files.read_end(log, 1 << 16).decode("utf-8", "replace"))[:200]
    return ("fails", f"The trainers fail without NVFlare too: {last or 'they printed nothing'}.")


def _train(found: dict[str, Trainers], environ: dict[str, str], log: Path) -> bool:
    """Run the trainers of every site until all have ended; returns False if they took too long."""
    with log.open("wb") as output:
        processes = [
            background.spawn_command(site.command, output, cwd=site.folder, env=environ)
            for site in found.values()
        ]
        end = time.monotonic() + _TRAINING_LIMIT_S
        try:
            while any(process.poll() is None for process in processes):
                if time.monotonic() >= end:
                    return False
                time.sleep(0.2)
            return True
        finally:
            end_descendants()
