# SPDX-License-Identifier: Apache-2.0
"""The models that NVFlare's server saved, as the run's own environment loaded them on the host."""

from collections.abc import Iterator
from pathlib import Path

from rekindle.host.archive import FILE_LIMIT
from rekindle.host.files import digest_file
from rekindle.judge.check import Options, Result, fails, holds, register_check, register_claim, unknown
from rekindle.judge.run import Run
from rekindle.records.events import ModelEvent, TaskEvent

_WIDEST = 8
"""Bytes that one value of a saved model has at most."""


@register_claim(
    holds="The server saved a model that is finite, not all zeros, and not the one that the run began with."
)
def global_model_saved(run: Run, options: Options) -> Result:
    found = list(_judge_models(run))
    if not found:
        return unknown("No model file is in the server's folder, or in the sites' of swarm learning.")
    return min(found, key=lambda result: ("fails", "holds", "unknown").index(result.state))


@register_check(
    "federated",
    holds="Every model that the server saved loads in the run's environment: finite, not all zeros, trained.",
)
def saved_models_load(run: Run) -> Iterator[Result]:
    """The final model of which job.py reports metrics is one of them."""
    digests = {line.event.digest for file, line in run.saved.loaded.items() if file}
    if run.final and digests and run.final.event.digest not in digests:
        yield fails("The final model is none that the server saved.", run.final)
    loaded = run.saved.loaded.keys() - {"", *run.left}
    gone = {file for file in loaded if not _is_there(run.folder.resolve(), file)}
    for file in sorted(gone):
        yield unknown(f"{file} loaded in the run's environment, and is missing from the run.")
    yield from (result for result in _judge_models(run) if result.state != "holds")


def _is_there(folder: Path, file: str) -> bool:
    """Whether a file is in a run's folder; what a link leads to was not loaded."""
    return (folder / file).is_file() and (folder / file).resolve() == folder / file


def _judge_models(run: Run) -> Iterator[Result]:
    """Yield of each model that was saved what was seen of it on the host."""
    began = run.saved.loaded.get("")
    for name, file in sorted({**run.saved.files, **run.saved.left}.items()):
        line = run.saved.loaded.get(file)
        if line is None:
            yield unknown(f"{name}: nothing shows whether it loads in the run's environment.")
        elif flaw := _flaw(line.event, began.event if began else None):
            yield fails(f"{name} {flaw}.", line)
        elif doubt := _doubt(run, file, line.event):
            yield unknown(f"{name} {doubt}.", line)
        else:
            seen = f"{name} loaded in the run's environment, with {line.event.values} values, finite and not"
            stayed = f" It stayed on the host: {run.left[file]}." if file in run.left else ""
            yield holds(f"{seen} all zero.{stayed}", line)


def _flaw(saved: ModelEvent, began: ModelEvent | None) -> str | None:
    if saved.error:
        return f"does not load in the run's environment ({saved.error[:200]})"
    if not saved.values or saved.digest is None:
        return "has no weights"
    if saved.infinite > (began.infinite if began else 0):
        return "has weights that are not finite"
    if not saved.norm:
        return "has weights that are all zeros"
    if began and began.digest == saved.digest:
        return "is the model that the run began with"
    return None


def _doubt(run: Run, file: str, saved: ModelEvent) -> str | None:
    """Return why what was loaded may not be what the server saved; None if it is."""
    if file in run.saved.files.values():
        same = saved.sha256 == digest_file(run.folder / file)
        return None if same else "is not the file that was loaded in the run's environment"
    if saved.values * _WIDEST < FILE_LIMIT:
        return f"stayed on the host as too large, and has {saved.values} values"
    if saved.values not in {line.event.values for line in run.find(TaskEvent)}:
        return f"stayed on the host, with {saved.values} values, which no site sent"
    return None
