"""What is wrong and what to do about it: what every failure of ours says."""

from __future__ import annotations

FIX = " Fix: "
"""Between both in the text, which is for people; of what came through Ansible nothing else is there."""


class Complaint(Exception):
    """What is wrong, and the fix where one is known."""

    def __init__(self, says: str, fix: str = "") -> None:
        """Take both.

        Args:
            says: a sentence, or the end of one that whoever catches this begins.
            fix: a sentence without its first word, which is "Fix:"; empty if none is known.
        """
        super().__init__(says, fix)
        self.says, self.fix = says, fix

    def __str__(self) -> str:
        """Return ``SAYS Fix: FIX``, for people."""
        return f"{self.says}{FIX}{self.fix}" if self.fix else self.says


class RecordError(Complaint, ValueError):
    """A file is not the record that it should be, or what leads to it is no good: what, and where."""


class VersionError(RecordError):
    """A record was written by another version of Rekindle, and may be whole."""


class MissingError(RecordError):
    """There is no such file."""
