# SPDX-License-Identifier: Apache-2.0
"""A user's own job: its job.yml, if it has one, and what its files say beside it."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from rekindle.host import folders, payload
from rekindle.records import Example, Job, RecordError
from rekindle.records.acceptance import ACCEPTANCE

from .data import TRAVELS_MB, require_sent
from .defaults import ENDINGS, SCRIPTS, Default, fill_defaults, locate_file, read_source
from .job_file import NAME_ANOTHER, explain_unfit, make_job, read_job_file, require_command
from .names import EXAMPLES, list_jobs
from .obstacles import explain_lost_script, refuse_elsewhere
from .source import Source, explain_syntax, is_server_configuration

_META = "meta.json"
_RESERVED = (EXAMPLES, folders.EARLIER, folders.LOCKS, "retired")
"""Names of other folders beside jobs'."""


class OwnJob(NamedTuple):
    """A user's own job."""

    job: Job
    given: dict[str, Any]
    """What its job.yml has."""
    found: dict[str, Default]
    """What that leaves out."""
    source: Source


def read_own(jobs: Path, path: Path) -> OwnJob:
    """Read the user's own job that ``path`` names; errors as in `load_job`."""
    file = locate_file(path)
    try:
        path.stat()
        if path.is_file() and path.suffix not in ENDINGS:
            other = "unpack an archive, and save a notebook as a script"
            fix = f"name its folder or a file that ends with {', '.join(ENDINGS)}; {other}."
            raise RecordError(f"{path} cannot be run as a job.", fix)
        given = read_job_file(file) if path == file or file.is_file() else {}
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.", NAME_ANOTHER) from None
    except RecordError:
        raise
    except ValueError as error:
        raise explain_unfit(path, error) from None
    if not isinstance(given, dict):
        raise explain_unfit(file, ValueError("Expected `object`, got `array`"))
    source = read_source(path, given)
    if why := _explain_unrunnable(source):
        raise RecordError(f"{path} cannot be run as a job: {why}.", "correct that, or name another job.")
    found = fill_defaults(source, given)
    job = make_job(file, {**given, **{name: one.value for name, one in found.items()}})
    taken = (name.removeprefix(f"{EXAMPLES}/") for name in list_jobs(jobs))
    if job.name in {*_RESERVED, *ACCEPTANCE.values(), *taken}:
        message = f"{path} is of a job {job.name!r}, and Rekindle has one of that name."
        raise RecordError(message, f"write another name: in {file.name}.")
    example = require_command(file, job)
    if example.folder or job.code:
        extra = "example.folder" if example.folder else "code"
        message = f"{file} has {extra}, and its code lies beside it."
        raise RecordError(message, "remove that, or move the file there.")
    if source.entry != path.name and path.suffix in SCRIPTS:
        message = f"{path} is named as a job, and {file} has another command."
        raise RecordError(message, f"name {file}, or correct its command.")
    _travels(file, example)
    require_sent(file, job)
    if away := refuse_elsewhere(source):
        raise RecordError(away.message, away.fix)
    assumed = tuple(name for name in ("sites", "rounds") if name in found and not found[name].read)
    return OwnJob(replace(job, assumed=assumed or job.assumed), given, found, source)


def _explain_unrunnable(source: Source) -> str:
    """Return why the file that is run, or the folder's configuration, cannot be; empty if it may."""
    if source.entry in source.files and not (source.folder / source.entry).read_bytes().strip():
        return f"{source.entry} is empty"
    if source.entry in source.files and "\0" in (source.text(source.entry) or "\0"):
        return f"{source.entry} is no text in UTF-8"
    names = [*(() if source.entry else (_META,)), *(one.name for one in source.configurations)]
    wrong = filter(None, (explain_syntax(name, text) for name in names if (text := source.text(name))))
    return next(wrong, "") or ("" if source.entry else _explain_undeployable(source))


def _explain_undeployable(source: Source) -> str:
    """Return what NVFlare misses in a folder that it is to run; empty if nothing is missing."""
    meta = json.loads(source.text(_META) or "{}")
    apps = meta.get("deploy_map") if isinstance(meta, dict) else None
    there = {name.partition("/config/")[0] for name in source.files if "/config/" in name}
    if lost := [app for app in apps or () if app not in there]:
        return f"deploy_map of {_META} names {lost[0]!r}, and there is no {lost[0]}/config"
    if apps and not any(map(is_server_configuration, source.files)):
        return "none of its apps has a config_fed_server (json, conf or yml)"
    return ""


def _travels(path: Path, example: Example) -> None:
    """Require that the scripts of a job.yml are sent to hosts with its folder."""
    folder, files = path.parent, payload.list_travelling(path.parent)
    commands = (command for of in example.described for command in (*(of.before or ()), of.command or ()))
    for script, *_ in filter(None, commands):
        if script.startswith("-") or script in files:
            continue
        lost = explain_lost_script(f"{path} runs", script, folder)
        python = re.fullmatch(r"python[\d.]*", script)
        raise RecordError(lost.message, "leave out Python itself: [job.py, …]." if python else lost.fix)
    sizes = {name: (folder / name).stat().st_size / 1e6 for name in files}
    if (size_mb := sum(sizes.values())) > TRAVELS_MB:
        largest = max(sizes, key=lambda name: sizes[name])
        message = f"{folder} has {size_mb:.0f} MB that each host would get, {largest} most of all"
        fix = "keep data elsewhere and name it by data: in job.yml; leave in it the code alone."
        raise RecordError(f"{message}, and at most {TRAVELS_MB} travel.", fix)
