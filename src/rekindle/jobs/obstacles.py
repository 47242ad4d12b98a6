# SPDX-License-Identifier: Apache-2.0
"""What in a job's own files cannot work on a host, whichever: seen before anything starts."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from rekindle.flare import moves
from rekindle.host.payload import is_outside
from rekindle.records import Complaint, Job
from rekindle.records.misfits import suggest_instead
from rekindle.solver.catalogue import load_rules

from .scripts import Script, SourceValue
from .sizes import STARTS
from .source import Source

_RUN = ("train_script", "script", "task_script_path")
"""What NVFlare's recipes and runners call the script that a site runs."""
_SCRIPT = re.compile(r"[\w./-]{1,200}\.py")
_ELSEWHERE = {"PocEnv": "NVFlare's proof of concept", "ProdEnv": "a federation that runs elsewhere"}


def refuse_elsewhere(source: Source) -> Complaint | None:
    """Return that the job runs in a federation of NVFlare's own, of which its run's folder has nothing."""
    calls = list(source.calls)
    if any(call.name in STARTS for call in calls):
        return None
    for call in calls:
        if call.name in _ELSEWHERE:
            sites = source.find_argument("num_clients", [call.name])
            count = sites[0].value if sites and isinstance(sites[0].value, int) else 2
            what = f"runs the job in {_ELSEWHERE[call.name]}, outside the run's folder"
            return Complaint(
                f"{source.folder / call.at} calls {call.name}, which {what}.",
                f"write SimEnv(num_clients={count}) there, and from nvflare.recipe import SimEnv.",
            )
    return None


def refuse_unread(source: Source, python: str) -> Complaint | None:
    """Return that a script that is run is no Python; None if a newer ``python`` than ours may read it."""
    release = tuple(map(int, python.split(".")[:2]))
    names = [source.entry, *(str(run.value) for run in _find_run(source))]
    reasons = (source.explain_unread(name) for name in names if name in source.files)
    why = next(filter(None, reasons), "")
    if not why or release > sys.version_info[:2]:
        return None
    return Complaint(f"{source.folder / why}.", "correct that line.")


def explain_lost_script(says: str, name: str, folder: Path) -> Complaint:
    """Return why no host would have a script that does not travel with a job's ``folder``.

    Args:
        says: what has the script, and a verb.
        name: its path from there on.
        folder: where the job is.
    """
    if is_outside(name) or not (folder / name).is_file():
        why, fix = f"is no file in {folder}", "write its path from there on, or put it there."
    else:
        why = "is a link, hidden or not tracked by git, and does not travel"
        fix = "git add it, or make it a plain file."
    return Complaint(f"{says} {name!r}, which {why}.", fix)


def _find_run(source: Source) -> list[SourceValue]:
    """Return the scripts that the job gives to NVFlare for its sites, by their paths."""
    found = [value for keyword in _RUN for value in source.find_argument(keyword)]
    return [one for one in found if _SCRIPT.fullmatch(str(one.value)) and not is_outside(str(one.value))]


def find_job_flaws(source: Source, job: Job, release: str, given: Iterable[str] = ()) -> Iterator[Complaint]:
    """Yield what is wrong in a job's files for a ``release`` of NVFlare, whatever the host.

    Args:
        source: the job's files.
        job: its command, and options of its own.
        release: of NVFlare.
        given: names of further options, without ``--``.
    """
    yield from find_moved_names(source, release)
    yield from _find_lost_scripts(source)
    script = source.script(source.entry) if source.entry.endswith(".py") else None
    if script and script.options is not None:
        yield from _find_missing_options(source, script, job, given)
        yield from _find_unknown_options(source, script.options, job)


def _find_missing_options(
    source: Source, script: Script, job: Job, given: Iterable[str]
) -> Iterator[Complaint]:
    """Yield each option without which the script that is run only prints its usage."""
    words = [word.partition("=")[0] for word in job.command[1:]]
    begun = {*words, *(f"--{name}" for name in (*job.arguments, *given))} - {"-", "--"}
    for option in script.find_required():
        name = option.flags[-1].lstrip("-")
        if any(flag.startswith("-") for flag in option.flags):
            fix = f"write arguments: {{{name}: …}} in job.yml, or in rekindle_job_arguments."
            lacks = not any(flag.startswith(word) for word in begun for flag in option.flags)
        else:
            fix = "write it in example.command of job.yml."
            lacks = not words
        if lacks:
            message = f"{source.folder / option.at} requires {option.flags[-1]}, and nothing gives it."
            yield Complaint(message, fix)


def _find_unknown_options(source: Source, known: frozenset[str], job: Job) -> Iterator[Complaint]:
    """Yield each option that job.yml gives the script and that this would refuse."""
    words = [word[2:].partition("=")[0] for word in job.command[1:] if word.startswith("--")]
    for name in dict.fromkeys((*filter(None, words), *job.arguments)):
        if name != "help" and not any(one.startswith(name.removeprefix("no-")) for one in known):
            message = f"job.yml of {job.name} gives --{name}, which {source.entry} does not know."
            yield Complaint(message, suggest_instead(name, sorted(known)))


def _find_lost_scripts(source: Source) -> Iterator[Complaint]:
    """Yield each script that the job's own name, and that no host would have."""
    run, texts = _find_run(source), [value for script in source.scripts for value in script.texts]
    named = [*run, *(one for one in texts if _SCRIPT.fullmatch(one.value) and not is_outside(one.value))]
    for name, at in {str(value.value): value.at for value in reversed(named)}.items():
        if name in source.files:
            continue
        written = sum(one.value == name for one in texts) > 1  # by the job itself, perhaps
        elsewhere = any(one.endswith(f"/{name}") for one in source.files)
        if (source.folder / name).is_file():
            yield explain_lost_script(f"{source.folder / at} names", name, source.folder)
        elif any(one.value == name for one in run) and not written and not elsewhere:
            yield explain_lost_script(f"{source.folder / at} runs", name, source.folder)


def find_moved_names(source: Source, release: str) -> Iterator[Complaint]:
    """Yield each line that an NVFlare of this ``release`` has no more, with the first that is wrong in it."""
    others, told = load_rules().nvflare.releases, set()
    for place, name, argument in _uses(source):
        found = moves.describe_gone(name, release, argument, others) if name.startswith("nvflare.") else None
        if found and place not in told:
            told.add(place)
            yield Complaint(f"{source.folder / place}: {found.message}", found.fix)


def _uses(source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield where a job uses what by its full name, and an argument that it gives it."""
    known = {one.name: f"{one.module}.{one.name}" for one in source.imports if one.name}
    for one in (one for one in source.imports if not one.optional):
        yield one.at, one.module, ""
        yield one.at, f"{one.module}.{one.name}", ""
    for call in (call for call in source.calls if call.name in known):
        yield from ((call.at, known[call.name], argument) for argument in call.keywords)
    for configuration in source.configurations:
        yield from ((configuration.name, path, "") for path in configuration.classes)
