# SPDX-License-Identifier: Apache-2.0
"""A row of a report: one job on one host, or the host itself."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rekindle.records import Complaint, PlacedRecord, Timestamp, VerdictKind, VerdictRecord, parse_time
from rekindle.records.action import Action

State = Literal["ok", "failed", "unknown"]
"""Of many rows or runs: all are good, one is not, or that is not known."""
RowKind = Literal[VerdictKind, "LOST", "READY", "RETIRED", "RUNNING"]
"""A verdict, or: LOST, the host vanished; READY, no job was asked for; RETIRED, the host was given back;
RUNNING, the playbook goes on.
"""


@dataclass(frozen=True)
class Row:
    """One job on one host, or the host itself (``job`` is None)."""

    host: str
    job: str | None
    kind: RowKind
    complaint: Complaint | None
    """Why it is no PASS, and the fix where the verdict has none."""
    verdict: VerdictRecord | None = None
    other_version: bool = False
    """Whether a record is of another version of Rekindle, so that the rest is unknown."""
    placed: PlacedRecord | None = None
    began: Timestamp = ""
    home: Path | None = None
    """Folder of the run; None if nothing of it was collected."""

    @property
    def cause(self) -> str | None:
        """Both as one text."""
        return str(self.complaint) if self.complaint else None

    @property
    def action(self) -> Action | None:
        """What acceptance or preflight asks the host's operator for; None where neither found anything."""
        if self.verdict:
            return self.verdict.action
        return self.complaint.action if self.complaint else None

    @property
    def at(self) -> Timestamp | None:
        """When the job was sent to its host, if it was."""
        return self.placed.at if self.placed else None

    @property
    def kept(self) -> Timestamp | None:
        """When the run was judged PASS, if it is an earlier playbook's and was not run again."""
        return self.placed.kept if self.placed and self.kind == "PASS" else None

    @property
    def remark(self) -> str | None:
        """What is shown beside the verdict: its cause or notice, and its age."""
        age = f"kept, of {format_clock(self.kept, self.began)}" if self.kept else ""
        kept = f"{age}; -e rerun=true runs it again" if age else ""
        return " ".join(filter(None, (self.cause or str(self.notice or ""), kept))) or None

    @property
    def required(self) -> bool:
        """Whether the playbook passes only with this; false for RETIRED."""
        return self.kind != "RETIRED" and (self.verdict is None or self.verdict.required)

    @property
    def notice(self) -> Complaint | None:
        """What to do about a job that passed without a site, or against what was expected."""
        if self.kind != "PASS" or self.verdict is None:
            return None
        if self.verdict.lost:
            rounds = self.verdict.lost.items()
            left = ", ".join(
                f"{site} in round {n + 1}" if n >= 0 else f"{site} before round 1" for site, n in rounds
            )
            message = f"It went on without sites that left: {left}."
            return Complaint(message, "see their logs, beside the verdict.")
        if self.verdict.known_issue is None:
            return None
        name = self.verdict.known_issue
        message = f"KNOWN ISSUE GONE: {name} no longer shows."
        return Complaint(message, "remove it from judge/known_issues.json.")

    @property
    def duration_s(self) -> float | None:
        """How long the job ran."""
        return self.verdict.duration_s if self.verdict else None

    @property
    def gpus(self) -> str:
        """``4 × NVIDIA H200``, ``CPU``, or ``–`` if unknown."""
        if self.verdict is None or not self.verdict.devices:
            return "–"
        models = {
            device.uuid or (device.site, device.rank): device.name or "GPU"
            for device in self.verdict.devices
            if device.uuid or "cpu" not in device.device.lower()
        }
        counts = Counter(models.values())
        return ", ".join(f"{counts[model]} × {model}" for model in sorted(counts)) or "CPU"


def format_minute(stamp: Timestamp) -> str:
    """Return a UTC timestamp to the minute: ``2026-11-21 02:15``."""
    return stamp[:16].replace("T", " ")


def format_clock(stamp: Timestamp, beside: Timestamp) -> str:
    """Return a UTC timestamp as this machine's time: ``09:12``, with the date if ``beside`` has another."""
    times = [f"{parse_time(given).astimezone():%Y-%m-%d %H:%M}" if given else "" for given in (stamp, beside)]
    return times[0][11:] if times[0][:10] == times[1][:10] else times[0]
