"""Whether a claim or a rule holds for a run, in one sentence, and the place that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from rekindle.flare.workspace import LogLine
from rekindle.host.files import sha256
from rekindle.records import ClaimResult
from rekindle.records.base import shortened
from rekindle.records.evidence import Line


class Answer(NamedTuple):
    """What the files of a run say to one claim or rule."""

    holds: bool | None
    """None: the files cannot tell."""
    says: str
    """One sentence with the figures."""
    at: Line[Any] | LogLine | Path | str | None = None
    """Where it stands; a path, or a name in the run's folder, is a whole file."""
    applies: bool = True
    """False: the run has nothing that it is about."""

    def result(self, claim: str, folder: Path) -> ClaimResult:
        """Return what the verdict says of ``claim``, with the digest of the file in ``folder`` that shows it.

        Raises:
            OSError: that file cannot be read.
        """
        line = self.at.line if isinstance(self.at, (Line, LogLine)) else None
        file = self.at.file if isinstance(self.at, (Line, LogLine)) else self.at
        if isinstance(file, Path):
            file = file.relative_to(folder).as_posix()
        return ClaimResult(
            claim=claim,
            holds=self.holds if self.applies else None,
            applies=self.applies,
            says=shortened(self.says),
            file=file,
            line=line,
            sha256=sha256(folder / file) if file else None,
        )


NO_GPU = Answer(None, "The run was given no GPU.", applies=False)
