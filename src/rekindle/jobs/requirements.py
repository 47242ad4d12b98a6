# SPDX-License-Identifier: Apache-2.0
"""What a job requires: as its job.yml lists it, or a file of packages beside its code."""

from collections.abc import Iterable
from pathlib import Path

import yaml
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rekindle.records import RecordError

from .package_files import FILES, read_package_file


def find_package_file(places: Iterable[Path]) -> tuple[Path | None, tuple[str, ...]]:
    """Return the first file in ``places`` that lists packages, and these; None and nothing if there is none.

    Raises:
        RecordError: it cannot be read, or lists something else than packages of an index.
    """
    files = [place / name for place in places for name in FILES]
    listed = ((path, _in_file(path, path.parent)) for path in files if path.is_file())
    return next((found for found in listed if found[1]), (None, ()))


def read_requirements(given: object, path: Path) -> tuple[str, ...]:
    """Return what ``requirements`` of the job.yml at ``path`` lists, itself or in a file that it names."""
    return _in_file(path.parent / given, path.parent) if isinstance(given, str) else _normal(given, path)


def _in_file(path: Path, folder: Path) -> tuple[str, ...]:
    """Return what a file of packages lists, for a job in ``folder``.

    It raises what `find_package_file` does.
    """
    try:
        lines = read_package_file(path, folder)
    except (OSError, ValueError, AttributeError, TypeError, yaml.YAMLError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        which = getattr(error, "filename", None) or path
        fix = "correct it, or list the packages as requirements: in job.yml."
        raise RecordError(f"{which} cannot be read: {reason.rstrip('.')}.", fix) from None
    return _normal(lines, path)


def _normal(lines: object, path: Path) -> tuple[str, ...]:
    """Return packages as pip lists them, in one spelling, sorted.

    Args:
        lines: as a file has them.
        path: of the file, for messages.

    Raises:
        RecordError: one is no package of an index.
    """
    if not isinstance(lines, list):
        raise RecordError(f"{path} has requirements that are no list.", "write them as [monai==1.5.1, timm].")
    found = set()
    for line in (line if isinstance(line, str) else f"a {type(line).__name__}" for line in lines):
        try:
            requirement = Requirement(line)
            if requirement.url:
                raise InvalidRequirement
        except (InvalidRequirement, RecursionError):
            raise RecordError(
                f"{path} requires {line[:200]!r}, which is no package of an index by its name.",
                "write it as name==version, or requirements: [] in job.yml to go without any.",
            ) from None
        requirement.name = canonicalize_name(requirement.name)
        found.add(str(requirement))
    return tuple(sorted(found))
