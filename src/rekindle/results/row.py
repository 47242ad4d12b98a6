"""A row of a report: one job on one host, or what is true of the host as a whole."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

from rekindle.records import PlacedRecord, Timestamp, VerdictKind, VerdictRecord, moment

RowKind = Literal[VerdictKind, "LOST", "READY", "RETIRED", "RUNNING"]
"""A verdict; or LOST, as the host vanished after it had been reached; or READY, as no job was asked for yet;
or RETIRED, as it was given back; or RUNNING, as the playbook that will collect the verdict goes on.
"""


@dataclass(frozen=True)
class Row:
    """One job on one host, or what is true of the host as a whole (``job`` is None)."""

    host: str
    job: str | None
    kind: RowKind
    cause: str | None
    verdict: VerdictRecord | None = None
    other_version: bool = False
    """Whether nothing is known, as a record was written by another version of Rekindle."""
    placed: PlacedRecord | None = None
    began: Timestamp = ""
    """When the latest playbook on the host began; empty where that is not known."""

    @property
    def at(self) -> Timestamp | None:
        """When the job was sent to its host, if it was."""
        return self.placed.at if self.placed else None

    @property
    def kept(self) -> Timestamp | None:
        """When the run was judged PASS, if this is that of an earlier playbook and was not run again."""
        return self.placed.kept if self.placed and self.kind == "PASS" else None

    @property
    def remark(self) -> str | None:
        """What is to be read beside the verdict: its cause, what has to be done about it, how old it is."""
        kept = f"kept, of {clock_time(self.kept, self.began)}" if self.kept else ""
        return " ".join(filter(None, (self.cause or self.notice, kept))) or None

    @property
    def required(self) -> bool:
        """Whether the run has not passed without this; false where a verdict says so, and of RETIRED."""
        return self.kind != "RETIRED" and (self.verdict is None or self.verdict.required)

    @property
    def notice(self) -> str | None:
        """What has to be done about a job that passed in spite of a known issue, or of its host's word."""
        if self.kind != "PASS" or self.verdict is None:
            return None
        if self.verdict.contradiction:
            return f"{self.verdict.contradiction} Fix: look at verdict-of-host.json."
        if self.verdict.known_issue is None:
            return None
        name = self.verdict.known_issue
        return f"KNOWN ISSUE GONE: {name} no longer shows. Fix: remove it from doctor/known_issues.json."

    @property
    def duration_s(self) -> float | None:
        """How long the job ran."""
        return self.verdict.duration_s if self.verdict else None

    @property
    def gpus(self) -> str:
        """What the job ran on: ``4 × NVIDIA H200``, ``CPU``, or ``–`` where that was not recorded."""
        if self.verdict is None or not self.verdict.devices:
            return "–"
        models = {
            device.uuid or (device.site, device.rank): device.name or "GPU"
            for device in self.verdict.devices
            if device.uuid or "cpu" not in device.device.lower()
        }
        counts = Counter(models.values())
        return ", ".join(f"{counts[model]} × {model}" for model in sorted(counts)) or "CPU"


def clock_time(stamp: Timestamp, beside: Timestamp) -> str:
    """Return a UTC timestamp as this machine's time: ``09:12``, with the date if ``beside`` has another."""
    times = [f"{moment(given).astimezone():%Y-%m-%d %H:%M}" if given else "" for given in (stamp, beside)]
    return times[0][11:] if times[0][:10] == times[1][:10] else times[0]
