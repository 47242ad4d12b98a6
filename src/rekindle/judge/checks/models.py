# SPDX-License-Identifier: Apache-2.0
"""The models that NVFlare's server saved, as the run's own environment loaded them on the host."""

from collections.abc import Iterator

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
    began, found = run.saved.loaded.get(""), []
    for name, file in sorted({**run.saved.files, **run.saved.left}.items()):
        line = run.saved.loaded.get(file)
        if line is None:
            found.append(_unloaded(name))
        elif message := _flaw(line.event, began.event if began else None):
            found.append(fails(f"{name} {message}.", line))
        else:
            values = f"{line.event.values} values, finite and not all zero"
            stayed = f" It stayed on the host: {run.left[file]}." if file in run.left else ""
            found.append(holds(f"{name} loaded in the run's environment, with {values}.{stayed}", line))
    if not found:
        return unknown("No model file is in the server's folder, or in the sites' of swarm learning.")
    return min(found, key=lambda result: ("fails", "holds", "unknown").index(result.state))


@register_check(
    "federated",
    holds="Every model that the server saved loads in the run's environment: finite, not all zeros, trained.",
)
def saved_models_load(run: Run) -> Iterator[Result]:
    """The final model of which job.py reports metrics is one of them."""
    loaded = {line.event.digest for file, line in run.saved.loaded.items() if file}
    if run.final and loaded and run.final.event.digest not in loaded:
        yield fails("The final model is none that the server saved.", run.final)
    began, sent = run.saved.loaded.get(""), {line.event.values for line in run.find(TaskEvent)}
    saved = run.saved.files
    gone = {file for file in run.saved.loaded if not (run.folder / file).exists()} - run.left.keys()
    for file in sorted(gone):
        yield unknown(f"{file} loaded in the run's environment, and is missing from the run.")
    for name, file in {**dict(sorted(saved.items())), **dict(sorted(run.saved.left.items()))}.items():
        line, stayed = run.saved.loaded.get(file), f"{name} stayed on the host" if name not in saved else ""
        if line is None:
            yield _unloaded(stayed or name)
        elif message := _flaw(line.event, began.event if began else None):
            yield fails(f"{name} {message}.", line)
        elif not stayed and line.event.sha256 != digest_file(run.folder / file):
            yield unknown(f"{name} is not the file that was loaded in the run's environment.", line)
        elif stayed and line.event.values * _WIDEST < FILE_LIMIT:
            yield unknown(f"{stayed} as too large, and has {line.event.values} values.", line)
        elif stayed and line.event.values not in sent:
            yield unknown(f"{stayed}, with {line.event.values} values, which no site sent.", line)


def _unloaded(name: str) -> Result:
    return unknown(f"{name}: nothing shows whether it loads in the run's environment.")


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
