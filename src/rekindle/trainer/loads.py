# SPDX-License-Identifier: Apache-2.0
"""Notes where a trainer takes nothing of a model that it gets: the site goes on with a model of its own.

It never reads what it received, or loads it with ``strict=False`` into a torch model that has none of its
names, as with a prefix too many. Only the standard library is imported here.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from .variables import WORKSPACE

Kind = Literal["reads", "steps", "turns", "changes", "idles", "vain", "rates"]


class Uses:
    """The lines of a job's code that got or sent models in this process, and whether each was right."""

    def __init__(self, *, settles: bool = True) -> None:
        """Start before the first model; ``settles``: where one was right, no later one is asked for."""
        self._right: dict[tuple[str, str], bool] = {}
        self._settles = settles

    def note(self, place: str, right: bool, by: Kind = "reads") -> None:
        """Record a line that was not right with a model, and once more if it was with a later one."""
        before = self._right.get((place, by))
        if not place or (before and self._settles) or before is right:
            return
        if not right or before is False:
            _record(place, right, by)
        self._right[place, by] = right


def watch_loads(module: ModuleType) -> None:
    """From here on loads of torch's modules are noted."""
    load, uses = module.Module.load_state_dict, Uses()

    @wraps(load)
    def loaded(self: Any, state_dict: Any, *arguments: Any, **options: Any) -> Any:
        found = load(self, state_dict, *arguments, **options)
        with suppress(Exception):  # whatever becomes of our note, the trainer goes on
            if state_dict:
                uses.note(find_line(), len(found.unexpected_keys) < len(state_dict))
        return found

    module.Module.load_state_dict = loaded


class Received:
    """The model that a trainer received last: whether anything read its parameters."""

    def __init__(self) -> None:
        """Start before the first one."""
        self._uses, self._last, self._place, self._read = Uses(settles=False), None, "", True
        self._took, self._unread = False, 0

    def receive(self, model: Any) -> None:
        """Note what became of the last model, and watch this one; it may be the same."""
        if model is self._last:
            return
        self._conclude()
        self._last, self._read = model, True
        if model is not None and model.params:
            self._place, self._read = find_line(), False
            self._have_noted(model)

    def send(self, model: Any) -> None:
        """Note what became of the last model, to which a trainer sends another one."""
        self._conclude()

    def _conclude(self) -> None:
        """Note whether it was read: a trainer that took one before may leave one out, but no two in a row."""
        place, self._place = self._place, ""
        if place:
            self._unread = 0 if self._read else self._unread + 1
            if self._read or self._unread > 1 or not self._took:
                self._uses.note(place, self._read)

    def _have_noted(self, model: Any) -> None:
        """Give the model a class that notes the first use of its parameters, and then gives back its own."""
        own, place = type(model), self._place

        def get(model: Any) -> Any:
            model.__class__, self._read, self._took = own, True, True
            with suppress(Exception):  # as above
                self._uses.note(place, right=True)  # now, as a trainer may end without another model
            return model.params

        def put(model: Any, value: Any) -> None:
            model.__class__ = own
            model.params = value

        def reduce(model: Any, protocol: int) -> Any:  # as ranks do that send it to each other
            get(model)
            return model.__reduce_ex__(protocol)

        noting = {"params": property(get, put), "__reduce_ex__": reduce, "__module__": own.__module__}
        model.__class__ = type(own.__name__, (own,), noting)


def watch_receipts(module: ModuleType, *notes: Callable[[Any], None]) -> None:
    """From here on models that the Client API hands to a trainer are noted."""
    receive = module.receive

    @wraps(receive)
    def noted(*arguments: Any, **options: Any) -> Any:
        model = receive(*arguments, **options)
        for note in notes:
            with suppress(Exception):  # as above
                note(model)
        return model

    module.receive = noted  # type: ignore[attr-defined]  # NVFlare has it


def watch_sends(module: ModuleType, *notes: Callable[[Any], None]) -> None:
    """From here on models that the Client API takes from a trainer are noted."""
    send = module.send

    @wraps(send)
    def sent(model: Any, *arguments: Any, **options: Any) -> Any:
        for note in notes:
            with suppress(Exception):  # as above
                note(model)
        return send(model, *arguments, **options)

    module.send = sent  # type: ignore[attr-defined]  # as above


def find_line() -> str:
    """Return the line of the job's own code that loads; nothing if it is elsewhere."""
    code = Path(os.environ[WORKSPACE]).parent
    frame: Any = sys._getframe(1)
    while frame and not Path(frame.f_code.co_filename).absolute().is_relative_to(code):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame else ""


def _record(place: str, right: bool, by: str) -> None:
    from .evidence import Evidence, name_server  # noqa: PLC0415 - few processes need it

    site = sys.modules["nvflare.client.api"].get_site_name()
    Evidence(f"{site}.{name_server()}").write("use", site=site, place=place, right=right, by=by)
