# SPDX-License-Identifier: Apache-2.0
"""Reading job.yml."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml
from msgspec.structs import asdict, replace

from rekindle.host import folders, paths, payload
from rekindle.judge import CHECKS, is_claim
from rekindle.records import Example, Job, PlanRecord, RecordError, convert_builtins, dump_builtins, events
from rekindle.records.acceptance import ACCEPTANCE
from rekindle.records.job import Variant
from rekindle.records.misfits import find_misfits
from rekindle.solver.catalogue import list_environments

from . import requirements
from .data import TRAVELS_MB, require_sent
from .defaults import ENDINGS, SCRIPTS, Default, fill_defaults, locate_file, read_source
from .obstacles import refuse_elsewhere
from .placement import cut_minor
from .source import Source

_THERE = "name a job that is there in rekindle_jobs."
_CORRECT = "correct that field (see docs/howto/own-job.md)."
_EXAMPLES, _META = "examples", "meta.json"
_ALL = f"{_EXAMPLES}/all"
_RESERVED = (_EXAMPLES, folders.EARLIER, folders.LOCKS, "retired")
"""Names of other folders beside jobs'."""
SIZES = {"sites": ("{sites}", "{names}"), "ranks_per_site": (), "rounds": ("{rounds}",), "limit_s": ()}
"""Fields of job.yml that an inventory may set, with what has one of to stand for them in a job's command."""
_OF_RANKS = frozenset({events.DeviceEvent, events.FinalEvent, events.RoundEvent})
"""Evidence that ranks and job.py write by ``rekindle.trainer`` alone."""
_INSTALLS = re.compile(
    r"\b(?:pip3?|uv|conda|mamba)\b.*\b(?:install|uninstall|sync|add)\b|\b(?:ensurepip|easy_install)\b"
)
"""In the words of a command."""
_IN_DATA = re.compile(r"\{data\}(?:/\w[\w.-]*)*")
_INJECTS = re.compile(r"REKINDLE_|LD_|PYTHON(?:HOME|STARTUP)\Z")


def list_jobs(jobs: Path) -> list[str]:
    """Return the jobs that rekindle_jobs may name: our own, ``examples/<name>``, and ``examples/all``.

    Jobs that measure a host are selected by rekindle_accept; naming one asks for nothing else.
    """
    own = sorted({path.parent.name for path in jobs.glob("*/job.yml")} - {*ACCEPTANCE.values()})
    examples = [f"{_EXAMPLES}/{name}" for name in list_examples(jobs)]
    return [*own, *examples, _ALL] if examples else own


def list_examples(jobs: Path) -> list[str]:
    """Return the names of NVFlare's examples that have a description."""
    return sorted(path.stem for path in jobs.glob(f"{_EXAMPLES}/*.yml"))


def name_arguments(job: Job) -> str:
    """Return a job's name in rekindle_job_arguments."""
    return f"{_EXAMPLES}/{job.name}" if job.example and job.example.folder else job.name


def resolve_own(asked: str) -> Path | None:
    """Return the folder or the file that rekindle_jobs names, from the current folder on.

    None for a job by its name: one of ours, or ``examples/<name>``.
    """
    folder = "/" in asked and not asked.startswith(f"{_EXAMPLES}/")
    return paths.resolve_path(asked) if folder or asked.endswith(ENDINGS) else None


def load_planned(plan: PlanRecord) -> list[Job]:
    """Read the jobs of a plan, in its order, as its release of NVFlare has them.

    Raises:
        RecordError: as `load_job` does.
    """
    return [load_planned_job(plan, name) for name in plan.jobs]


def load_planned_job(plan: PlanRecord, name: str) -> Job:
    """Read one job of a plan, as `load_planned` does."""
    job = load_job(paths.JOBS, plan.own.get(name, name))
    release = cut_minor(plan.nvflare)
    if job.example is None or release is None:
        return job
    variant = job.example.variants.get(release, Variant())
    given = {name: value for name, value in asdict(variant).items() if value is not None}
    return replace(job, example=replace(job.example, variants={}, **given))


def expand_names(jobs: Path, asked: Iterable[str]) -> list[str]:
    """Return ``asked`` with each example in place of ``examples/all``, without duplicates."""
    every = [f"{_EXAMPLES}/{name}" for name in list_examples(jobs)]
    names = (every if name == _ALL else [name] for name in asked)
    return list(dict.fromkeys(itertools.chain.from_iterable(names)))


def load_job(jobs: Path, name: str) -> Job:
    """Read ``jobs/<name>/job.yml``, ``jobs/examples/<name>.yml``, or the job of the user's own at that path.

    Raises:
        RecordError: there is no such job, its job.yml does not fit the schema, or its code cannot be sent.
    """
    if own := resolve_own(name):
        return read_own(jobs, own).job
    name = name.removeprefix(f"{_EXAMPLES}/")
    places_of_it = (jobs / name / "job.yml", jobs / _EXAMPLES / f"{name}.yml")
    path = next((path for path in places_of_it if path.is_file()), None)
    if path is None:
        fix = f"name one of {', '.join(list_jobs(jobs))} in rekindle_jobs."
        raise RecordError(f"There is no job {name!r} in {jobs.name}/.", fix)
    job = _job(path, _given(path))
    if job.code and not (jobs / job.code / "job.py").is_file():
        raise RecordError(
            f"{path} runs the code of {job.code!r}, which has no job.py.", "name a job that has one."
        )
    if job.name != name:
        raise RecordError(f"{path} is named {job.name!r} inside.", _CORRECT)
    if job.federated:
        _require_command(path, job)
    return job


def _given(path: Path) -> Any:
    """Return what a job.yml has, of builtins."""
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), _OnceEach)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.", _THERE) from None
    except (yaml.YAMLError, ValueError) as error:
        raise _no_job(path, error) from None
    if isinstance(given, dict) and "requirements" in given:
        given["requirements"] = list(requirements.read_requirements(given["requirements"], path))
    return {} if given is None else given


class _OnceEach(yaml.SafeLoader):
    """Refuses a key that a mapping has twice, of which YAML's loaders take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node.

        Raises:
            yaml.YAMLError: a key is there twice.
        """
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise yaml.YAMLError(f"`{key.value}` stands in line {lines[key.value]} and in line {line}")
            lines[key.value] = line
        return super().construct_mapping(node, deep=deep)


def _no_job(path: Path, error: Exception) -> RecordError:
    reason = " ".join(str(error).split()).rstrip(".")
    return RecordError(f"{path} is not a job: {reason}.", _CORRECT)


def _job(path: Path, given: Any) -> Job:
    """Return the job that a job.yml at ``path`` has, or would have."""
    try:
        if mistakes := [*find_misfits(given, Job), *_unprovable(given, path)]:
            raise RecordError("; ".join(mistakes))
        job = convert_builtins(given, Job)
    except (RecordError, ValueError) as error:
        raise _no_job(path, error) from None
    if job.environment not in list_environments():
        raise RecordError(
            f"{path} names the environment {job.environment!r}, and there is none.",
            f"name one of {', '.join(list_environments())}.",
        )
    if "expected_s" in given and job.expected_s > job.limit_s:
        message = f"{path} is expected to take {job.expected_s} s and has a limit of {job.limit_s} s."
        raise RecordError(message, "raise limit_s in it.")
    _require_locked(path, job)
    described = job.example.described if job.example else ()
    for mend in (mend for example in described for mend in example.mends or ()):
        if _escapes(mend.file):
            message = f"{path} mends {mend.file!r}, which is not in the folder of its code."
            raise RecordError(message, "write its path from there on.")
    return job


def _require_command(path: Path, job: Job) -> Example:
    if job.example is None:
        raise RecordError(
            f"{path} does not have the command of its code.",
            "write example: {command: [job.py]}, with the options that it takes.",
        )
    return job.example


def _require_locked(path: Path, job: Job) -> None:
    """Require that a job changes neither its environment nor what processes of ours load."""
    if job.example is None:
        return
    relative = job.data and job.data.where == "host" and not job.data.from_.startswith("/")
    if job.data and (relative or not _IN_DATA.fullmatch(job.data.to)):
        raise RecordError(
            f"{path} has data from {job.data.from_!r} to {job.data.to!r}.",
            'write from: a folder of the host, as /data/site-{n}, and to: "{data}" or a folder in it.',
        )
    if job.image and job.data and job.data.where == "host":
        message = f"{path} has data and a container, which sees no folder of the host's but its run's own."
        raise RecordError(message, "remove one of them.")
    if job.image and job.requirements:
        message = f"{path} has requirements and a container, whose image has its own packages."
        raise RecordError(message, "remove one of them.")
    earlier = (" ".join(words) for of in job.example.described for words in of.before or ())
    for words in filter(_INSTALLS.search, earlier):
        if not job.image:
            raise RecordError(
                f"{path} installs packages before it runs ({words}), which would change an environment that "
                "jobs share.",
                "list them as requirements: in it, and remove that step.",
            )
    for name in filter(_INJECTS.match, job.example.environ):
        raise RecordError(
            f"{path} sets {name} in environ, which decides what Rekindle's own processes load or do.",
            "remove it; PATH and PYTHONPATH take folders of the job's own.",
        )


def _unprovable(given: Any, path: Path) -> Iterator[str]:
    """Yield each claim of a job.yml, as YAML has it, that no run of that job can show."""
    table = given if isinstance(given, dict) else {}
    proof = table["proof"] if isinstance(table.get("proof"), list) else []
    named = (item for item in proof if isinstance(item, dict) and isinstance(item.get("claim"), str))
    for claim, options in ((item["claim"], item.get("options", {})) for item in named):
        if claim in CHECKS and not is_claim(claim):
            yield f"it claims {claim!r}, which is checked of every run"
        elif claim not in CHECKS:
            yield f"it claims {claim!r}, and no check has that name"
        elif _OF_RANKS.intersection(CHECKS[claim].needs) and not _records(path, table.get("code")):
            yield f"it claims {claim!r}, and none of its files imports rekindle.trainer, which would show it"
        elif isinstance(options, dict):
            yield from CHECKS[claim].find_mistakes(options)


def _records(path: Path, code: object) -> bool:
    """Whether the code of a job.yml has ranks record what they do; so it may where there is no such code."""
    folder = path.parents[1] / code if isinstance(code, str) else path.parent
    if not folder.is_dir():
        return True
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in folder.rglob("*.py"))
    return any("rekindle.trainer" in text for text in texts)


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
            fix = (
                f"name its folder or a file that ends with {', '.join(ENDINGS)}; save a notebook as a script."
            )
            raise RecordError(f"{path} cannot be run as a job.", fix)
        given = _given(file) if path == file or file.is_file() else {}
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.", _THERE) from None
    except RecordError:
        raise
    except ValueError as error:
        raise _no_job(path, error) from None
    if not isinstance(given, dict):
        raise _no_job(file, ValueError("Expected `object`, got `array`"))
    source = read_source(path, given)
    if why := _explain_unrunnable(source):
        raise RecordError(f"{path} cannot be run as a job: {why}.", _THERE)
    found = fill_defaults(source, given)
    job = _job(file, {**given, **{name: one.value for name, one in found.items()}})
    taken = (name.removeprefix(f"{_EXAMPLES}/") for name in list_jobs(jobs))
    if job.name in {*_RESERVED, *ACCEPTANCE.values(), *taken}:
        message = f"{path} is of a job {job.name!r}, and Rekindle has one of that name."
        raise RecordError(message, f"write another name: in {file.name}.")
    example = _require_command(file, job)
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
    """Return why the file that is run, or meta.json, is none that could be; empty if it may be one."""
    text = source.text(source.entry) if source.entry in source.files else "elsewhere"
    if not text.strip() or "\0" in text:
        return f"{source.entry} is {'no text' if text.strip() else 'empty'}"
    try:
        json.loads(source.text(_META) if not source.entry and _META in source.files else "{}")
    except ValueError as error:
        return f"{_META} is no JSON: {error}"
    return ""


def _travels(path: Path, example: Example) -> None:
    """Require that the scripts of a job.yml are sent to hosts with its folder."""
    folder, files = path.parent, payload.list_travelling(path.parent)
    commands = (command for of in example.described for command in (*(of.before or ()), of.command or ()))
    for script, *_ in filter(None, commands):
        if script.startswith("-") or script in files:
            continue
        if _escapes(script) or not (folder / script).is_file():
            raise RecordError(
                f"{path} runs {script!r}, which is no file in {folder}.",
                "write its path from there on, or put it there.",
            )
        raise RecordError(
            f"{path} runs {script!r}, which is a link, hidden or not tracked by git, and does not travel.",
            "git add it, or make it a plain file.",
        )
    size_mb = sum((folder / name).stat().st_size for name in files) / 1e6
    if size_mb > TRAVELS_MB:
        raise RecordError(
            f"{folder} has {size_mb:.0f} MB that each host would get, and at most {TRAVELS_MB} travel.",
            "keep data elsewhere, and leave in it the code alone.",
        )


def _escapes(name: str) -> bool:
    return PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts


def set_sizes(job: Job, sizes: Mapping[str, int]) -> Job:
    """Return ``job`` with ``sizes``, some of `SIZES`, in place of its own.

    Raises:
        RecordError: one is no size of a job, or the job's command does not take it.
    """
    setting = f"rekindle_job_sizes gives {name_arguments(job)}"
    for name in sizes:
        if name not in SIZES:
            raise RecordError(f"{setting} {name}, which is no size of a job.", f"name {', '.join(SIZES)}.")
        words = SIZES[name] if job.example else ()
        if words and not any(word in " ".join(job.command) for word in words):
            fix = f"leave it out, or pass {words[0]} in its command."
            raise RecordError(f"{setting} {name}, which its command does not take.", fix)
    try:
        return convert_builtins({**dump_builtins(job), **sizes}, Job)
    except RecordError as error:
        raise RecordError(f"{setting} a size that none can have: {error.message}.", "give numbers.") from None


def set_arguments(job: Job, arguments: dict[str, Any]) -> Job:
    """Return ``job`` with ``arguments`` over its own.

    Raises:
        RecordError: one has a value that no option can have.
    """
    try:
        return convert_builtins({**dump_builtins(job), "arguments": {**job.arguments, **arguments}}, Job)
    except RecordError as error:
        raise RecordError(
            f"rekindle_job_arguments has a value for {job.name} that is no option's: {error.message}.",
            "give texts, numbers, true, or lists of texts.",
        ) from None
