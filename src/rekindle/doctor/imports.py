# SPDX-License-Identifier: Apache-2.0
"""What a failed import or call lacks: a package, a module of the job's, another release, another Python."""

import re
import sys
from collections.abc import Mapping

from msgspec.structs import replace

from rekindle.flare.moves import find_span
from rekindle.records import Finding

from .subjects import Level, Meaning, find_subject, load_statements

_MODULE = re.compile(
    r"No module named '?(?P<name>[\w.]{1,200})'?(?P<hidden>; '[\w.]{1,200}' is not a package)?"
)
_NAME = re.compile(
    r"cannot import name '(?P<name>\w{1,100})' from (?P<half>partially initialized module )?"
    r"'(?P<module>[\w.]{1,200})'(?: \((?P<path>[^)\n]{1,400})\))?"
)
_ATTRIBUTE = re.compile(r"module '(?P<module>[\w.]{1,200})' has no attribute '(?P<name>\w{1,100})'")
_ARGUMENT = re.compile(
    r"(?:(?P<name>\w{0,60}[A-Z]\w{0,60}[A-Z]\w{0,60})(?:\.__init__)?\(\)|"
    r"Class (?P<path>nvflare\.[\w.]{1,200}) has parameters error\.[^\n]{0,80}\(\)) "
    r"got an unexpected keyword argument '(?P<argument>\w{1,80})'"
)
"""A name alone is NVFlare's only if it is of several words: each library has a Client and a Task."""
_BINARY = re.compile(r"(?P<name>[\w-]{1,100})(?:\.[\w-]{1,60})?\.so[\d.]{0,12}: undefined symbol")
_LIBRARY = re.compile(
    r"(?P<name>[\w.+-]{1,100}\.so[\d.]{0,12}): (?:cannot open shared object|version `[\w.]{1,32}' not found)"
)
_BUILT = re.compile(r" at (?:<string>|setup\.py):\d+$")
"""Raised by a package's own script, as a wheel is built of it."""
_MISSING = (_NAME, _ATTRIBUTE, _BINARY, _LIBRARY, _MODULE)
_OWN = re.compile(
    r"(?:src|utils?|helpers?|common|libs?|custom|apps?|models?|nets?|networks?|data|datasets?|loaders?|configs?|"
    r"aggregators?|executors?|learners?|train\w{0,10}|client\w{0,10}|server\w{0,10}|my_?\w{1,60})"
)
"""How people call modules of their own, and nobody a package."""
_PACKAGES = {
    "cv2": "opencv-python-headless",
    "google": "protobuf",
    "PIL": "pillow",
    "pkg_resources": "setuptools<81",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
"""Packages whose modules have another name."""
_GONE = frozenset(("asynchat", "asyncore", "cgi", "distutils", "imp", "pipes", "smtpd", "telnetlib"))
"""Modules that newer Pythons no longer have."""


def explain_import(finding: Finding, installed: Mapping[str, str]) -> Finding:
    """Return ``finding``; that of a failed import or call with the layer and the remedy of what is missing.

    Args:
        finding: its cause quotes what Python says.
        installed: versions of what the environment has, by package.
    """
    if finding.name != "exception" and not finding.name.endswith("_error"):
        return finding
    moved = _in_another_release(finding.cause)
    if not moved and (row := _find_named(finding.cause)):
        return replace(finding, layer=row.layer, remedy=row.remedy)
    kind, words = moved or _missing(finding.cause, installed)
    if not kind:
        return finding
    said = load_statements()[f"import: {kind}"]
    return replace(finding, layer=said.layer, remedy=said.remedy.format(**words))


def _find_named(cause: str) -> Meaning | None:
    """Return the row whose words name what is missing."""
    about = find_subject(cause)
    if about is None or about.level > Level.WORDS or about.row.rank != "cause":
        return None
    missing = next(filter(None, (one.search(cause) for one in _MISSING)), None)
    groups = missing.groupdict() if missing else {}
    names = (missing.span(group) for group in groups if missing and missing[group])
    return about.row if any(about.start <= start and end <= about.end for start, end in names) else None


def _in_another_release(cause: str) -> tuple[str, dict[str, str]] | None:
    """Return how NVFlare's releases differ in what is missing, and which have it; None if they do not."""
    if called := _ARGUMENT.search(cause):
        name, argument = called["path"] or called["name"] or "", called["argument"]
    elif named := _NAME.search(cause) or _ATTRIBUTE.search(cause):
        name, argument = f"{named['module']}.{named['name']}", ""
    else:
        module = _MODULE.search(cause)
        name, argument = (module["name"] if module else ""), ""
    found = find_span(name, argument) if argument or name.startswith("nvflare.") else None
    if found is None:
        return None
    kind = "brought" if not found.until else "taken" if not found.now else "renamed" if argument else "moved"
    home, _, own = found.now.rpartition(".")
    shown = f"{argument} of {name}" if argument else name
    return kind, {"name": shown, "argument": argument, "home": home, "own": own, **found._asdict()}


def _missing(cause: str, installed: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return what kind of thing is missing, and its name; an empty kind if nothing is."""
    kind = name = ""
    if named := _NAME.search(cause) or _ATTRIBUTE.search(cause):
        parts = named.groupdict()
        path, module = parts.get("path"), named["module"]
        pythons = module.partition(".")[0] in sys.stdlib_module_names
        own = not pythons and "-packages/" not in path if path else _OWN.fullmatch(module.partition(".")[0])
        kind = "circle" if parts.get("half") else "own" if own else "Python" if pythons else "release"
        name = module if own else f"{module}.{named['name']}"
    elif binary := _BINARY.search(cause):
        kind, name = "build", binary["name"]
    elif library := _LIBRARY.search(cause):
        kind, name = "library", library["name"]
    elif match := _MODULE.search(cause):
        top = match["name"].partition(".")[0]
        kind = "hidden" if match["hidden"] else _kind(match["name"], top, installed)
        kind = "isolated" if kind == "package" and _BUILT.search(cause) else kind
        name = top if match["hidden"] else match["name"]
    top = name.partition(".")[0]
    return kind, {"name": name, "package": top, "wanted": _PACKAGES.get(top, f"the package that has {name}")}


def _kind(name: str, top: str, installed: Mapping[str, str]) -> str:
    """Return whose a missing module is; of a dotted one Python has found the package."""
    if top in sys.stdlib_module_names or top in _GONE:
        return "Python"
    if _OWN.fullmatch(top):
        return "own"
    return "release" if top != name else "other Python" if name in installed else "package"
