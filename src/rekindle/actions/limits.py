"""Limits for actions that connect to a host: nothing waits forever, or leaves an ssh behind."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

import psutil

from rekindle.records import Complaint

from .base import COMPLAINT, Action, failed

CLEANUP_S = 30
"""For the removal of a task's files on the host, for which Ansible has no limit."""

ActionT = TypeVar("ActionT", bound=type[Any])


class _Rung(BaseException):
    """The time is over; no ``except Exception`` must catch it."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Limit the block's time, in the main thread; at the limit the processes that it started end.

    Raises:
        TimeoutError: it took longer.
    """

    def ring(number: int, frame: FrameType | None) -> None:
        raise _Rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _Rung:
        end_children()
        raise TimeoutError(f"the host gave no answer within {seconds:g} s") from None
    finally:
        signal.signal(signal.SIGALRM, before)


def end_children() -> None:
    """End every process below this one, with SIGKILL if necessary."""
    children = psutil.Process().children(recursive=True)
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for child in children:
            with suppress(psutil.NoSuchProcess):
                end(child)
        _, children = psutil.wait_procs(children, timeout=1)


def without_facts(result: Any) -> Any:
    """Drop the facts of a task's result: Ansible would make variables of them, chosen by the host.

    The discovered Python stays, so that Ansible does not search again.
    """
    facts = result.pop("ansible_facts", None)
    if isinstance(facts, dict):
        result["ansible_facts"] = {
            name: fact for name, fact in facts.items() if str(name).startswith("discovered_interpreter_")
        }
    return result


def limited(action: ActionT) -> ActionT:
    """Decorate an action that connects to a host, so that its task's ``timeout`` holds in any case.

    Ansible raises it in ``run``, leaves ssh behind, and then removes files on the same host without a limit.
    """
    run, cleanup, is_ours = action.run, action.cleanup, issubclass(action, Action)

    def limited_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = without_facts(run(self, *args, **kwargs))
            return result if is_ours else {name: result[name] for name in result if name != COMPLAINT}
        except Complaint as error:
            return failed(error)
        except BaseException as error:
            if not isinstance(error, Exception):  # as the timeout is not one
                end_children()
            raise

    def limited_cleanup(self: Any, *args: Any, **kwargs: Any) -> None:
        with suppress(TimeoutError), within(CLEANUP_S):
            cleanup(self, *args, **kwargs)

    action.run, action.cleanup = limited_run, limited_cleanup
    return action
