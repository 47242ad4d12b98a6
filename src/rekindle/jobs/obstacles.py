# SPDX-License-Identifier: Apache-2.0
"""What in a job's own files cannot work on a host, whichever: seen before anything starts."""

import sys
from collections.abc import Iterable, Iterator

from rekindle.flare import moves
from rekindle.records import Complaint, Job
from rekindle.solver.catalogue import load_rules

from .sizes import STARTS
from .source import Source

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
    """Return that the script that is run is no Python; None if a newer ``python`` than ours may read it."""
    major, minor, *_ = map(int, python.split("."))
    if not source.unread or (major, minor) > sys.version_info[:2]:
        return None
    return Complaint(f"{source.folder / source.unread}.", "correct that line.")


def find_missing_options(source: Source, job: Job, given: Iterable[str] = ()) -> Iterator[Complaint]:
    """Yield each option without which the script that is run only prints its usage.

    Args:
        source: the job's files.
        job: its command, and options of its own.
        given: names of others, without ``--``.
    """
    script = source.script(source.entry) if source.entry.endswith(".py") else None
    words = [word.partition("=")[0] for word in job.command[1:]]
    given = {*words, *(f"--{name}" for name in (*job.arguments, *given))}
    for option in script.find_required() if script else ():
        name = option.flags[-1].lstrip("-")
        if any(flag.startswith("-") for flag in option.flags):
            fix = f"write arguments: {{{name}: …}} in job.yml, or in rekindle_job_arguments."
            lacks = not any(flag.startswith(word) for word in given - {"-", "--"} for flag in option.flags)
        else:
            fix = "write it in example.command of job.yml."
            lacks = not words
        if lacks:
            yield Complaint(
                f"{source.folder / option.at} requires {option.flags[-1]}, and nothing gives it.", fix
            )


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
