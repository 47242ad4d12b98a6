# SPDX-License-Identifier: Apache-2.0
"""Limits for actions that connect to a host: nothing waits forever, or leaves an ssh behind."""

import functools
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, TypeVar

import psutil
from ansible.errors import AnsibleConnectionFailure, AnsibleError

from rekindle.records import Complaint
from rekindle.records.text import shorten_text

from .base import COMPLAINT, Action, fail_with
from .privileges import refuse_become

CLEANUP_S = 30
"""For the removal of a task's files on the host, for which Ansible has no limit."""

_ANSWER = 16 << 20
"""Bytes of one answer of a host; the longest of ours, a machine's facts, has half a megabyte."""
_ROOM = 112 << 20
"""Of memory beside it: Ansible joins what it reads, and this process goes on to load its own code."""
_LOOK_S = 0.05

ActionT = TypeVar("ActionT", bound=type[Any])


class _Rung(BaseException):
    """The time is over; no ``except Exception`` must catch it."""


class _Full(BaseException):
    """So is the room."""


class Flood(Complaint):
    """A host sends more than it has reason to."""

    def __init__(self, most: int) -> None:
        """Take the bytes that it may send."""
        message = f"The host sends more than {most >> 20} MiB as one answer."
        super().__init__(message, "do not trust that host.")


@contextmanager
def limit_files(limit: int) -> Iterator[None]:
    """Keep this process and its children, which fetch an archive, from files above ``limit`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit if hard == -1 else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def limit_output(most: int) -> Iterator[None]:
    """Limit what the block keeps in memory of what a host sends, in the main thread.

    Ansible keeps all of it, and takes processor time as it does: by that it is looked at. At the limit the
    processes that the block started end.

    Raises:
        Flood: it sends more than ``most`` bytes, and all of that took a few times as much.
    """
    process = psutil.Process()
    before = process.memory_info().rss

    def look(number: int, frame: FrameType | None) -> None:
        if process.memory_info().rss - before > most + _ROOM:
            raise _Full

    handler = signal.signal(signal.SIGPROF, look)
    try:
        try:
            signal.setitimer(signal.ITIMER_PROF, _LOOK_S, _LOOK_S)
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except _Full:
        end_children()
        raise Flood(most) from None
    finally:
        signal.signal(signal.SIGPROF, handler)


def bound_execution(execute: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return what runs a command on a host, but ends one whose answer is longer than any of ours.

    What ssh says of a connection that failed is cut, as the host may have written it.
    """

    @functools.wraps(execute)
    def run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            with limit_output(_ANSWER):
                answer = execute(*args, **kwargs)
        except AnsibleConnectionFailure as error:
            raise AnsibleConnectionFailure(shorten_text(str(error))) from None
        if sum(len(str(answer.get(stream, ""))) for stream in ("stdout", "stderr")) > _ANSWER:
            raise Flood(_ANSWER)
        return answer

    return run


def fetch_file(connection: Any, there: str, here: str, most: int, fix: str = "") -> None:
    """Fetch a file of at most ``most`` bytes from a host.

    Raises:
        AnsibleConnectionFailure: the host is lost.
        Complaint: it cannot be fetched, or is larger; with that ``fix``.
        Flood: likewise, of a host without sftp, which sends it as an answer.
    """
    try:
        with limit_files(most), limit_output(2 * most):
            connection.fetch_file(there, here)
    except AnsibleConnectionFailure:
        raise
    except (AnsibleError, OSError) as error:
        limit = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        message = f"{there} could not be fetched, or has more than {limit}: {error}"
        raise Complaint(message, fix) from None


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
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


def drop_facts(result: Any) -> Any:
    """Drop the facts of a task's result: Ansible would make variables of them, chosen by the host.

    The discovered Python stays, so that Ansible does not search again.
    """
    facts = result.pop("ansible_facts", None)
    if isinstance(facts, dict):
        result["ansible_facts"] = {
            name: fact for name, fact in facts.items() if str(name).startswith("discovered_interpreter_")
        }
    return result


def limit_action(action: ActionT) -> ActionT:
    """Decorate an action that connects to a host, so that its task's ``timeout`` holds in any case.

    Ansible raises it in ``run``, leaves ssh behind, and then removes files on the same host without a limit.
    """
    run, cleanup, is_ours = action.run, action.cleanup, issubclass(action, Action)

    def limited_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            refuse_become(self)
            self._low_level_execute_command = bound_execution(self._low_level_execute_command)
            result = drop_facts(run(self, *args, **kwargs))
            return result if is_ours else {name: result[name] for name in result if name != COMPLAINT}
        except Complaint as error:
            return fail_with(error)
        except BaseException as error:
            if not isinstance(error, Exception):  # as the timeout is not one
                end_children()
            raise

    def limited_cleanup(self: Any, *args: Any, **kwargs: Any) -> None:
        with suppress(TimeoutError), limit_time(CLEANUP_S):
            cleanup(self, *args, **kwargs)

    action.run, action.cleanup = limited_run, limited_cleanup
    return action
