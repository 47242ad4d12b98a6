# SPDX-License-Identifier: Apache-2.0
"""What a failed import lacks: a package, the job's own module, a name of another release, another Python."""

import re
import sys
from collections.abc import Mapping

from msgspec.structs import replace

from rekindle.records import Finding, Layer

_MODULE = re.compile(
    r"No module named '?(?P<name>[\w.]{1,200})'?(?P<hidden>; '[\w.]{1,200}' is not a package)?"
)
_NAME = re.compile(
    r"cannot import name '(?P<name>\w{1,100})' from (?P<half>partially initialized module )?"
    r"'(?P<module>[\w.]{1,200})'(?: \((?P<path>[^)\n]{1,400})\))?"
)
_ATTRIBUTE = re.compile(r"module '(?P<module>[\w.]{1,200})' has no attribute '(?P<name>\w{1,100})'")
_OWN = re.compile(
    r"(?:src|utils?|helpers?|common|libs?|custom|apps?|models?|nets?|networks?|data|datasets?|loaders?|configs?|"
    r"aggregators?|executors?|learners?|train\w{0,10}|client\w{0,10}|server\w{0,10}|my_?\w{1,60})"
)
"""How people call modules of their own, and nobody a package."""
_GONE = frozenset(("asynchat", "asyncore", "cgi", "distutils", "imp", "pipes", "smtpd", "telnetlib"))
"""Modules that newer Pythons no longer have."""
_REMEDIES: dict[str, tuple[Layer, str]] = {
    "package": (
        "environment",
        "List the package that has {name} as requirements: in job.yml, or name another environment there; "
        "if it is a file of the job's own, put it beside the script.",
    ),
    "own": ("job", "Put the job's own {name} into the job's folder, beside the script: only that is copied."),
    "hidden": ("job", "Rename the job's own {name}.py: Python takes it for the package of that name."),
    "circle": (
        "job",
        "Two modules import each other, or a file is called as a package is: rename or move one.",
    ),
    "release": (
        "environment",
        "Take a release of {package} that has {name}, or correct the name: this one has it not.",
    ),
    "known release": (
        "environment",
        "{name} is in {releases}: pin that release in requirements:, or import what this one has.",
    ),
    "Python": ("environment", "Take another Python: {name} is a part of Python, and this one is without it."),
    "other Python": ("environment", "Start it by the environment's Python: {name} is installed there."),
}


def released_in(name: str) -> str:
    """Return the releases that have a module or a name (``nvflare 2.5 to 2.7``), if a table has it."""
    return name[:0]


def explained(finding: Finding, installed: Mapping[str, str]) -> Finding:
    """Return ``finding``; that of a failed import with the layer and the remedy of what is missing.

    Args:
        finding: its cause quotes what Python says.
        installed: versions of what the environment has, by package.
    """
    missing = _missing(finding.cause, installed) if finding.name in ("import_error", "exception") else None
    if missing is None:
        return finding
    kind, name = missing
    releases = released_in(name) if kind == "release" else ""
    layer, remedy = _REMEDIES["known release" if releases else kind]
    remedy = remedy.format(name=name, package=name.partition(".")[0], releases=releases)
    return replace(finding, layer=layer, remedy=remedy)


def _missing(cause: str, installed: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what kind of thing is missing, and its name."""
    if named := _NAME.search(cause) or _ATTRIBUTE.search(cause):
        parts = named.groupdict()
        path, module = parts.get("path"), named["module"]
        own = "-packages/" not in path if path else _OWN.fullmatch(module.partition(".")[0])
        kind = "circle" if parts.get("half") else "own" if own else "release"
        return kind, module if own else f"{module}.{named['name']}"
    if match := _MODULE.search(cause):
        top = match["name"].partition(".")[0]
        if match["hidden"]:
            return "hidden", top
        return _kind(match["name"], top, installed), match["name"]
    return None


def _kind(name: str, top: str, installed: Mapping[str, str]) -> str:
    """Return whose a missing module is; of a dotted one Python has found the package."""
    if top in sys.stdlib_module_names or top in _GONE:
        return "Python"
    if _OWN.fullmatch(top):
        return "own"
    return "release" if top != name else "other Python" if name in installed else "package"
