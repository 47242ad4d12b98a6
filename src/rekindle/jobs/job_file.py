# SPDX-License-Identifier: Apache-2.0
"""A job.yml: read, and refused where it says what no run can do or show."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from rekindle.host.payload import is_outside
from rekindle.judge import CHECKS, is_claim
from rekindle.records import Example, Job, RecordError, events
from rekindle.records.misfits import convert_written, find_misfits, find_near, suggest_instead
from rekindle.solver.catalogue import list_environments

from . import requirements
from .source import explain_yaml
from .yaml_texts import BoundedLoader

NAME_ANOTHER = "name a job that is there in rekindle_jobs."
_CORRECT = "correct that field (see docs/howto/own-job.md)."
_INDENT = "correct that line: blanks indent, no tabs, and a text with a colon or braces stands in quotes."
_OF_RANKS = frozenset({events.DeviceEvent, events.FinalEvent, events.RoundEvent})
"""Evidence that ranks and job.py write by ``rekindle.trainer`` alone."""
_INSTALLS = re.compile(
    r"\b(?:pip3?|uv|conda|mamba)\b.*\b(?:install|uninstall|sync|add)\b|\b(?:ensurepip|easy_install)\b"
)
"""In the words of a command."""
_IN_DATA = re.compile(r"\{data\}(?:/\w[\w.-]*)*")
_INJECTS = re.compile(r"REKINDLE_|LD_|PYTHON(?:HOME|STARTUP)\Z")


def read_job_file(path: Path) -> Any:
    """Return what a job.yml has, of builtins, and its requirements as a list.

    Raises:
        RecordError: it cannot be read, or is no YAML.
    """
    try:
        given = yaml.load(path.read_text(encoding="utf-8"), _OnceEach)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.", NAME_ANOTHER) from None
    except UnicodeDecodeError:
        raise RecordError(f"{path} is not in UTF-8.", "save it as UTF-8.") from None
    except yaml.YAMLError as error:
        raise RecordError(f"{path}{explain_yaml(error)}.", _INDENT) from None
    except ValueError as error:
        raise explain_unfit(path, error) from None
    if isinstance(given, dict) and "requirements" in given:
        given["requirements"] = list(requirements.read_requirements(given["requirements"], path))
    return {} if given is None else given


class _OnceEach(BoundedLoader):
    """Refuses a key that a mapping has twice, of which YAML's loaders take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node.

        Raises:
            ValueError: a key is there twice.
        """
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise ValueError(f"`{key.value}` stands in line {lines[key.value]} and in line {line}")
            lines[key.value] = line
        return super().construct_mapping(node, deep=deep)


def explain_unfit(path: Path, error: Exception) -> RecordError:
    """Return that what lies at ``path`` is no job, and why."""
    reason = " ".join(str(error).split()).rstrip(".")
    return RecordError(f"{path} is not a job: {reason}.", _CORRECT)


def make_job(path: Path, given: Any) -> Job:
    """Return the job that a job.yml at ``path`` has, or would have.

    Raises:
        RecordError: a field is wrong, or what it asks for can be neither run nor shown.
    """
    try:
        if unprovable := [*_unprovable(given, path)]:
            raise RecordError("; ".join([*find_misfits(given, Job), *unprovable]))
        job = convert_written(given, Job)
    except (RecordError, ValueError) as error:
        raise explain_unfit(path, error) from None
    if job.environment not in list_environments():
        raise RecordError(
            f"{path} names the environment {job.environment!r}, and there is none.",
            suggest_instead(job.environment, list_environments()),
        )
    if "expected_s" in given and job.expected_s > job.limit_s:
        message = f"{path} is expected to take {job.expected_s} s and has a limit of {job.limit_s} s."
        raise RecordError(message, "raise limit_s in it.")
    _require_locked(path, job)
    described = job.example.described if job.example else ()
    for mend in (mend for example in described for mend in example.mends or ()):
        if is_outside(mend.file):
            message = f"{path} mends {mend.file!r}, which is not in the folder of its code."
            raise RecordError(message, "write its path from there on.")
    return job


def require_command(path: Path, job: Job) -> Example:
    """Return how the job of a job.yml at ``path`` is run.

    Raises:
        RecordError: it does not say it.
    """
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
            near = find_near(claim, filter(is_claim, CHECKS))
            yield f"it claims {claim!r}, and no check has that name" + (f", {near!r} has" if near else "")
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
