# SPDX-License-Identifier: Apache-2.0
"""Whether a version fits a specifier of PEP 440, on hosts without the package ``packaging``."""

import operator
import re
from collections.abc import Callable, Mapping

_OPERATORS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")


def fits(version: str, specifier: str) -> bool:
    """Whether the release of ``version`` (``2.7.3``, ``2.11.0+cu130``) fits every clause of ``specifier``.

    Raises:
        ValueError: ``specifier`` has a clause other than an operator and a release.
    """
    for clause in specifier.split(","):
        parsed = _CLAUSE.fullmatch(clause)
        if parsed is None:
            raise ValueError(f"{clause!r} is not an operator and a release.")
        if not _OPERATORS[parsed[1]](_release(version), _release(parsed[2])):
            return False
    return True


def apply(wanted: Mapping[str, str], versions: Mapping[str, str]) -> bool | None:
    """Whether ``versions`` fit the ``wanted`` ones; None if a package's version is unknown."""
    known = [fits(versions[name], specifier) for name, specifier in wanted.items() if name in versions]
    if not all(known):
        return False
    return True if len(known) == len(wanted) else None


def _release(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
