# SPDX-License-Identifier: Apache-2.0
"""Notes where a trainer's steps begin from weights of its own, and not from the model that it got last.

It reads the model, and then loads a checkpoint of its own. Weights show nothing of that once a run has
converged. Also noted is a trainer that gets the same model for ever, as it sends nothing, one that sends
what training changed as the whole model, one that computes gradients and applies none, one that steps an
optimizer without any, and one whose learning rate is 0 for most of what has gradients. Only the standard
library is imported here; arrays bring their own methods.
"""

import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import wraps
from math import isclose, prod
from operator import sub
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from .arrays import select_floating
from .loads import Uses, find_line

_VALUES = 16
"""Of each array, evenly spread: no two models have them in common by chance."""
_KEPT = 4
"""Models of the trainer's own: what its steps began from and what it sent, in two rounds."""

_TURNS = 50
"""That one model is got, where a trainer never comes to send a result; others ask for it a few times."""

Values = tuple[float, ...]
Samples = dict[tuple[int, ...], list[Values]]
"""Some values of each array of a model, by its shape."""


class Starts(threading.local):
    """What the steps of this thread's trainer began from, since it got a model."""

    def __init__(self) -> None:
        """Start before the first model."""
        self._uses, self._last, self._place = Uses(settles=False), None, ""
        self._gradients, self._rates = Uses(), Uses()
        self._got: Samples = {}
        self._own: deque[Samples] = deque(maxlen=_KEPT)
        self._made: WeakSet[Any] = WeakSet()
        self._stepped: WeakSet[Any] = WeakSet()
        self._vain: WeakSet[Any] = WeakSet()
        self._learns: WeakKeyDictionary[Any, dict[int, tuple[bool, int]]] = WeakKeyDictionary()
        self._ever_stepped = False
        self._took: bool | None = None
        self._turns = 0

    def receive(self, model: Any) -> None:
        """Take the model that steps should begin from; it may be the last one again."""
        self._turns = self._turns + 1 if model is self._last else 1
        if model is not None and self._turns == _TURNS:
            self._uses.note(self._place, right=False, by="turns")
        if model is None or model is self._last:
            return
        self._last, self._place, self._took = model, find_line(), None
        self._got = _sample_arrays(select_floating(model.params or {}).values())
        self._stepped, self._vain, self._learns = WeakSet(), WeakSet(), WeakKeyDictionary()

    def make(self, optimizer: Any) -> None:
        """Take an optimizer that is made."""
        self._made.add(optimizer)

    def step(self, optimizer: Any) -> None:
        """See what the first step of an optimizer begins from, before it."""
        self._ever_stepped = True
        if not self._got or optimizer in self._stepped:
            return
        moved = _list_with_gradients([optimizer])
        if not moved:
            return
        self._stepped.add(optimizer)
        if self._took:
            return
        kinds = {(tuple(array.shape), array.dtype): array for array in moved}
        known = {kind: self._list_known(kind[0], like) for kind, like in kinds.items()}
        own: list[bool] = []
        for array in moved:
            got, earlier = known[tuple(array.shape), array.dtype]
            began = _sample_values(array)
            if began in got - earlier:
                self._took = True
            elif began not in got and began and got - earlier:
                own.append(began in earlier)
        self._own.append(_sample_arrays(moved))
        if own and all(own) and not self._took:
            self._took = False

    def finish_step(self, optimizer: Any) -> None:
        """See whether a step had gradients, after it: a closure computes them in it."""
        if _list_with_gradients([optimizer]):
            self._stepped.add(optimizer)
            self._vain.discard(optimizer)
        elif optimizer not in self._stepped and _list_arrays([optimizer]):
            self._vain.add(optimizer)
        learns = self._learns.setdefault(optimizer, {})
        for number, group in enumerate(optimizer.param_groups):
            moves, values = learns.get(number) or (False, _count_with_gradients(group["params"]))
            learns[number] = moves or bool(group.get("lr", 1.0) != 0), values

    def _learns_little(self) -> bool:
        """Whether the rate of each step so far was 0 for most values that have gradients."""
        groups = [group for learns in self._learns.values() for group in learns.values()]
        still = sum(values for moves, values in groups if not moves)
        return 2 * still > sum(values for _, values in groups)

    def _list_known(self, shape: tuple[int, ...], like: Any) -> tuple[set[Values], set[Values]]:
        """Return what arrays of that shape have in the model that came, and in those of the trainer's own."""
        got = {_round_values(values, like) for values in self._got.get(shape, ())}
        own = {_round_values(values, like) for model in self._own for values in model.get(shape, ())}
        return got, own

    def send(self, model: Any) -> None:
        """Note what the steps of this round began from; and keep what the trainer sends."""
        if self._turns >= _TURNS:
            self._uses.note(self._place, right=True, by="turns")
        if self._took is not None:
            self._uses.note(self._place, self._took, by="steps")
        sent = _sample_arrays(select_floating(getattr(model, "params", None) or {}).values())
        if not str(getattr(model, "params_type", "")).endswith("DIFF"):
            place = find_line()
            self._uses.note(place, not self._is_change(sent), by="changes")
            self._uses.note(place, not (sent and self._is_idle()), by="idles")
        self._gradients.note(find_line(), not self._vain, by="vain")
        self._rates.note(find_line(), not self._learns_little(), by="rates")
        self._own.append(sent)

    def _is_idle(self) -> bool:
        """Whether no optimizer ever stepped, and those that have gradients hold the model as it came."""
        if self._ever_stepped:
            return False
        held = [
            (array, began) for array in _list_with_gradients(self._made) if (began := _sample_values(array))
        ]
        return bool(held) and all(
            began in self._list_known(tuple(array.shape), array)[0] for array, began in held
        )

    def _is_change(self, sent: Samples) -> bool:
        """Whether every array of the optimizers is sent without what it had in the model that came."""
        found: list[bool] = []
        for array in _list_arrays(self._stepped):
            shape, now = tuple(array.shape), _sample_values(array)
            befores = [before for before in self._got.get(shape, ()) if before]
            if not (now and befores and any(sent.get(shape, ()))):
                continue
            changes = [tuple(map(sub, now, before)) for before in befores]
            found.append(any(_is_near(each, change) for each in sent[shape] for change in changes))
        return bool(found) and all(found)


def watch_steps(module: ModuleType, starts: Starts) -> None:
    """From here on torch's optimizers and their steps are noted."""

    def note(optimizer: Any, arguments: Any, options: Any) -> None:
        with suppress(Exception):  # whatever becomes of our note, the trainer goes on
            starts.step(optimizer)

    def note_end(optimizer: Any, arguments: Any, options: Any) -> None:
        with suppress(Exception):  # as above
            starts.finish_step(optimizer)

    make = module.Optimizer.__init__

    @wraps(make)
    def made(optimizer: Any, *arguments: Any, **options: Any) -> None:
        make(optimizer, *arguments, **options)
        with suppress(Exception):  # as above
            starts.make(optimizer)

    module.Optimizer.__init__ = made
    module.register_optimizer_step_pre_hook(note)
    module.register_optimizer_step_post_hook(note_end)


def _list_arrays(optimizers: Iterable[Any]) -> list[Any]:
    return [array for one in optimizers for group in one.param_groups for array in group["params"]]


def _list_with_gradients(optimizers: Iterable[Any]) -> list[Any]:
    return [array for array in _list_arrays(optimizers) if array.grad is not None]


def _count_with_gradients(arrays: Iterable[Any]) -> int:
    return sum(prod(array.shape) for array in arrays if array.grad is not None)


def _sample_arrays(arrays: Iterable[Any]) -> Samples:
    found: Samples = {}
    for array in arrays:
        found.setdefault(tuple(array.shape), []).append(_sample_values(array))
    return found


def _sample_values(array: Any) -> Values:
    """Return some values of an array; none where all of them are one, as in a layer before its training."""
    flat = array.detach().reshape(-1) if hasattr(array, "detach") else array.reshape(-1)
    values = flat[:: max(1, len(flat) // _VALUES)][:_VALUES].tolist()
    return tuple(values) if len({*values}) > 1 else ()


def _is_near(values: Values, others: Values) -> bool:
    """Whether two samples are one, but for what float32 rounds of a difference."""
    near = (isclose(a, b, rel_tol=1e-4, abs_tol=1e-7) for a, b in zip(values, others, strict=True))
    return bool(values) and all(near)


def _round_values(values: Values, like: Any) -> Values:
    """Return values as an array of that type has them."""
    return tuple(like.new_tensor(values, device="cpu").tolist())
