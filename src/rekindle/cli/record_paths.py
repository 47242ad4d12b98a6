# SPDX-License-Identifier: Apache-2.0
"""The records of a path on the command line: a results folder, a host's, or the file itself."""

from pathlib import Path

from rekindle.host import folders
from rekindle.records import RecordError
from rekindle.records.base import has_schema, require_folder
from rekindle.records.layout import play_in
from rekindle.results.contents import HostResults, Results, gather_host, gather_results

_OF_A_HOST = (
    folders.LEASE_RECORD,
    folders.HOST_RECORD,
    folders.PLAN_RECORD,
    folders.ENV_RECORD,
    folders.OUTCOME_RECORD,
    folders.RETIRED_RECORD,
)


def is_results(path: Path) -> bool:
    """Whether ``path`` is a results folder."""
    return has_schema(path / folders.PLAY_RECORD)


def find_results_above(path: Path) -> Path | None:
    """Return the results folder that a host's folder or a run's is in; None if it is in none."""
    above = path.absolute()
    return next(filter(is_results, (above.parent, above.parent.parent)), None)


def is_host(path: Path) -> bool:
    """Whether ``path`` is a host's folder of results."""
    return any(has_schema(path / name) for name in _OF_A_HOST)


def read_host_folder(path: Path) -> HostResults | None:
    """Return what was collected from a host, by its folder; None for any other folder."""
    if is_host(path) and not (path / folders.SPEC).exists():
        return gather_host(path, path.resolve().name)
    return None


def find_records(path: Path, name: str) -> list[Path]:
    """Return the record of each host in ``path``, or ``path`` itself if it is a file.

    Raises:
        RecordError: no host there has it, or run.json is broken.
    """
    if path.is_file() or path.name == name:
        return [path]
    require_folder(path)
    hosts = play_in(path).hosts if is_results(path) else ("",)
    files = [path / host / name for host in hosts if (path / host / name).is_file()]
    if not files:
        raise RecordError(f"{path} has no {name}.", "name a folder of results, a host's, or a file.")
    return files


def find_record(path: Path, name: str) -> Path:
    """Return the only record that `find_records` finds.

    Raises:
        RecordError: there is none, or more than one.
    """
    files = find_records(path, name)
    if len(files) > 1:
        hosts = ", ".join(file.parent.name for file in files)
        raise RecordError(f"{path} has the {name} of {len(files)} hosts: {hosts}.", "name one's folder.")
    return files[0]


def gather_folders(given: list[Path]) -> tuple[dict[Path, Results], list[str]]:
    """Return each results folder among or in those ``given``, and a sentence for each that was not read.

    Raises:
        RecordError: a folder has no results, or nothing can be read.
    """
    paths: dict[Path, None] = {}
    for folder in given:
        below = [path.parent for path in sorted(folder.glob(f"*/{folders.PLAY_RECORD}"))]
        here = [folder] if is_results(folder) else below
        if not here:
            require_folder(folder)
            raise RecordError(f"{folder} has no run.", "name a folder of results, or one that has some.")
        paths |= dict.fromkeys(path.resolve() for path in here)
    results, flaws = {}, []
    for path in paths:
        try:
            results[path] = gather_results(path)
        except RecordError as error:
            flaws.append(error)
        except OSError as error:
            flaws.append(
                RecordError(f"{error.filename} cannot be read: {error.strerror}.", "see its rights.")
            )
    if not results:
        raise flaws[0]
    return results, [str(flaw) for flaw in flaws]
