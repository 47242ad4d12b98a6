# SPDX-License-Identifier: Apache-2.0
"""Which rank does what: local rank picks the device, global rank 0 alone talks to NVFlare."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GLOBAL_RANK = int(os.environ.get("RANK", "0"))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", "0"))
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
NODES = int(os.environ.get("GROUP_WORLD_SIZE", "1"))
"""On which the site's ranks are, as many on each."""


def follow_rank_zero(broadcast: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
    """Yield ``(round, model)`` for each task that NVFlare sends, in step on every rank.

    With REKINDLE_ROUNDS in the environment it yields that many rounds without NVFlare and without models: the
    same training by itself, to compare with.

    Args:
        broadcast: returns rank 0's argument on every rank; the argument is small.

    Yields:
        The round and, on rank 0, the received FLModel; on other ranks the model is None, as they
        have to take its weights from rank 0 through the framework's own collective.
    """
    if "REKINDLE_ROUNDS" in os.environ:
        yield from ((number, None) for number in range(int(os.environ["REKINDLE_ROUNDS"])))
        return
    if GLOBAL_RANK == 0:
        import nvflare.client as flare  # noqa: PLC0415 - ranks above 0 must not load NVFlare at all

        flare.init()
    while True:
        model = flare.receive() if GLOBAL_RANK == 0 and flare.is_running() else None
        with take_turn():
            current = broadcast(None if model is None else model.current_round)
            if current is None:
                return
            yield current, model


@contextmanager
def take_turn() -> Iterator[None]:
    """Hold the GPUs that this site shares with others, where the driver named a lock for it in REKINDLE_TURN.

    Rank 0 holds it for its site: the others work only between its broadcasts.
    """
    path = os.environ.get("REKINDLE_TURN")
    if not path or GLOBAL_RANK != 0:
        yield
        return
    with Path(path).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
