# SPDX-License-Identifier: Apache-2.0
"""Files of a run's proof that stayed on its host."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch

from rekindle.flare.workspace import ALL_LOGS
from rekindle.host import folders

_PROOF = (folders.EVENTS, folders.ALL_SAMPLES, f"{folders.EVIDENCE}/", ALL_LOGS, folders.JOB_LOG)


def describe_left(left: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each file that proves something, by why each file stayed."""
    for name, why in left.items():
        if any(fnmatch(name, pattern) for pattern in _PROOF):
            yield f"{name} stayed on the host: {why}."
