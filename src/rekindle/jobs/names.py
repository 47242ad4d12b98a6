# SPDX-License-Identifier: Apache-2.0
"""The jobs that rekindle_jobs may name, and what it calls them."""

import itertools
from collections.abc import Iterable
from pathlib import Path

from rekindle.host import paths
from rekindle.records import Job
from rekindle.records.acceptance import ACCEPTANCE

from .defaults import ENDINGS

EXAMPLES = "examples"
_ALL = f"{EXAMPLES}/all"


def list_jobs(jobs: Path) -> list[str]:
    """Return the jobs that rekindle_jobs may name: our own, ``examples/<name>``, and ``examples/all``.

    Jobs that measure a host are selected by rekindle_accept; naming one asks for nothing else.
    """
    own = sorted({path.parent.name for path in jobs.glob("*/job.yml")} - {*ACCEPTANCE.values()})
    examples = [f"{EXAMPLES}/{name}" for name in list_examples(jobs)]
    return [*own, *examples, _ALL] if examples else own


def list_examples(jobs: Path) -> list[str]:
    """Return the names of NVFlare's examples that have a description."""
    return sorted(path.stem for path in jobs.glob(f"{EXAMPLES}/*.yml"))


def name_arguments(job: Job) -> str:
    """Return a job's name in rekindle_job_arguments."""
    return f"{EXAMPLES}/{job.name}" if job.example and job.example.folder else job.name


def resolve_own(asked: str) -> Path | None:
    """Return the folder or the file that rekindle_jobs names, from the current folder on.

    None for a job by its name: one of ours, or ``examples/<name>``.
    """
    folder = "/" in asked and not asked.startswith(f"{EXAMPLES}/")
    return paths.resolve_path(asked) if folder or asked.endswith(ENDINGS) else None


def expand_names(jobs: Path, asked: Iterable[str]) -> list[str]:
    """Return ``asked`` with each example in place of ``examples/all``, without duplicates."""
    every = [f"{EXAMPLES}/{name}" for name in list_examples(jobs)]
    names = (every if name == _ALL else [name] for name in asked)
    return list(dict.fromkeys(itertools.chain.from_iterable(names)))
