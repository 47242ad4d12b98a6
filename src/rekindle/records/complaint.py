# SPDX-License-Identifier: Apache-2.0
"""What is wrong and what to do about it, for every failure of ours."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .action import Action, pick_severest

FIX = " Fix: "
"""Separates both in the text, which is for people."""
_ADVICE = " Its advice: "
"""Stands there in what a host says, so that nobody takes it for ours."""

ANOTHER = "ask for another"
"""Is in a fix where a host itself is broken, so that no command on it helps."""


class Complaint(Exception):
    """What is wrong, and the fix where one is known."""

    def __init__(self, message: str, fix: str = "", action: Action | None = None) -> None:
        """Take both.

        Args:
            message: a sentence, or the end of one that the code that catches this begins.
            fix: a sentence without its first word, which is "Fix:"; empty if none is known.
            action: what a finding on a host asks its operator for; None where it is no such finding.
        """
        super().__init__(message, fix, action)
        self.message, self.fix, self.action = message, fix, action

    @classmethod
    def parse(cls, text: str) -> "Complaint":
        """Return both of a text that this machine made of them; what a host says is only a message."""
        message, separator, fix = text.rpartition(FIX)
        return cls(message, fix) if separator else cls(text)

    @classmethod
    def join(cls, complaints: Iterable["Complaint"]) -> "Complaint":
        """Return one for several, of which there is one: the first, and a line in its fix for each other.

        Its action is their most severe.
        """
        first, *others = complaints
        asked = [complaint.action for complaint in (first, *others) if complaint.action]
        action = pick_severest(asked) if asked else None
        return cls(first.message, "\n".join(filter(None, [first.fix, *map(str, others)])), action)

    def __str__(self) -> str:
        """Return ``MESSAGE Fix: FIX``, for people."""
        return f"{self.message}{FIX}{self.fix}" if self.fix else self.message


def quote_host(text: str) -> str:
    """Return what a host says so that nothing in it reads as a fix of ours."""
    return text.replace(FIX, _ADVICE)


class RecordError(Complaint, ValueError):
    """A file is not the record that it should be, or its path or input is wrong."""


class VersionError(RecordError):
    """A record was written by another version of Rekindle, and may be valid."""


class MissingError(RecordError):
    """There is no such file."""


@contextmanager
def explain_unwritten(
    what: Path, fix: str = "make it writable, with room.", *, inside: bool = False
) -> Iterator[None]:
    """Say of a block that writes ``what`` why it could not; of a folder, also ``inside`` of it.

    Raises:
        RecordError: it could not.
    """
    try:
        yield
    except OSError as error:
        named = (inside and error.filename) or what
        raise RecordError(f"{named} cannot be written: {error.strerror}.", fix) from None


class BundleError(Complaint):
    """A wheel could not be fetched."""
