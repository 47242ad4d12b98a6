"""Limits of what speaks to a host: nothing waits for ever, and what waited leaves no ssh behind."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Protocol, TypeVar

import psutil

CLEANUP_S = 30
"""For the removal of a task's own files on the host, which Ansible itself does without any limit."""


class Action(Protocol):
    """Of Ansible's ActionBase, what a limit is put on."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Do the task."""

    def cleanup(self, *args: Any, **kwargs: Any) -> None:
        """Remove the task's own files on the host."""


ActionT = TypeVar("ActionT", bound=Action)


class _Rung(BaseException):
    """The time is over; no ``except Exception`` on the way may take it for its own."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let what is done here take so long, in the main thread; then the processes that it started end.

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
    """End every process below this one, also one that does not listen."""
    children = psutil.Process().children(recursive=True)
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for child in children:
            with suppress(psutil.NoSuchProcess):
                end(child)
        _, children = psutil.wait_procs(children, timeout=1)


def without_facts(result: Any) -> Any:
    """Drop the facts of a task's result: by Ansible's default they become variables of the host's choice.

    The Python that Ansible found there stays, so that it is not looked for again.
    """
    facts = result.pop("ansible_facts", None)
    if isinstance(facts, dict):
        result["ansible_facts"] = {
            name: fact for name, fact in facts.items() if str(name).startswith("discovered_interpreter_")
        }
    return result


def limited(action: type[ActionT]) -> type[ActionT]:
    """Decorate an action that speaks to a host, so that its task's ``timeout`` holds whatever the host does.

    Ansible raises that in ``run``, leaves ssh behind, and then tidies up on the same host without a limit.
    """
    run, cleanup = action.run, action.cleanup

    def limited_run(self: ActionT, *args: Any, **kwargs: Any) -> Any:
        try:
            return without_facts(run(self, *args, **kwargs))
        except BaseException as error:
            if not isinstance(error, Exception):  # as the timeout is none
                end_children()
            raise

    def limited_cleanup(self: ActionT, *args: Any, **kwargs: Any) -> None:
        with suppress(TimeoutError), within(CLEANUP_S):
            cleanup(self, *args, **kwargs)

    action.run, action.cleanup = limited_run, limited_cleanup  # type: ignore[assignment,method-assign]
    return action
