# SPDX-License-Identifier: Apache-2.0
"""Notes where a trainer loads a state of which its model takes nothing, as ``strict=False`` lets it.

A prefix too many or too few does that: the site goes on with a model of its own. Only the standard library
is imported here.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from .variables import WORKSPACE


class LoadWatch:
    """The places in a job's code that loaded states in this process, and whether a model took any of one."""

    def __init__(self) -> None:
        """Start before the first load."""
        self._took: dict[str, bool] = {}

    def note(self, state: Mapping[str, Any], unexpected: list[str]) -> None:
        """Record a place whose first load took nothing, and once more if a later one did."""
        took, place = len(unexpected) < len(state), _find_place()
        before = self._took.get(place)
        if not state or not place or before or before is took:
            return
        if not took or before is False:
            _record(place, took)
        self._took[place] = took


def watch_loads(module: ModuleType) -> None:
    """From here on loads of torch's modules are noted."""
    load, watch = module.Module.load_state_dict, LoadWatch()

    @wraps(load)
    def loaded(self: Any, state_dict: Any, *arguments: Any, **options: Any) -> Any:
        found = load(self, state_dict, *arguments, **options)
        with suppress(Exception):  # whatever becomes of our note, the trainer goes on
            watch.note(state_dict, found.unexpected_keys)
        return found

    module.Module.load_state_dict = loaded


def _find_place() -> str:
    """Return the line of the job's own code that loads; nothing if it is elsewhere."""
    code = Path(os.environ[WORKSPACE]).parent
    frame: Any = sys._getframe(2)
    while frame and not Path(frame.f_code.co_filename).absolute().is_relative_to(code):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else ""


def _record(place: str, took: bool) -> None:
    from .evidence import Evidence, name_server  # noqa: PLC0415 - few processes need it

    site = sys.modules["nvflare.client.api"].get_site_name()
    Evidence(f"{site}.{name_server()}").write("load", site=site, place=place, took=took)
