"""What is wrong and what to do about it, for every failure of ours."""

FIX = " Fix: "
"""Separates both in the text, which is for people and is all that goes through Ansible."""

ANOTHER = "ask for another"
"""Is in a fix where a host itself is broken, so that no command on it helps."""


class Complaint(Exception):
    """What is wrong, and the fix where one is known."""

    def __init__(self, message: str, fix: str = "") -> None:
        """Take both.

        Args:
            message: a sentence, or the end of one that the code that catches this begins.
            fix: a sentence without its first word, which is "Fix:"; empty if none is known.
        """
        super().__init__(message, fix)
        self.message, self.fix = message, fix

    def __str__(self) -> str:
        """Return ``MESSAGE Fix: FIX``, for people."""
        return f"{self.message}{FIX}{self.fix}" if self.fix else self.message


class RecordError(Complaint, ValueError):
    """A file is not the record that it should be, or its path or input is wrong."""


class VersionError(RecordError):
    """A record was written by another version of Rekindle, and may be valid."""


class MissingError(RecordError):
    """There is no such file."""


class BundleError(Complaint):
    """A wheel could not be fetched."""
