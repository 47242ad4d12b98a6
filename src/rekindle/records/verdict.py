"""``verdict.json``: what is true of one job's run, and where that is written."""

from __future__ import annotations

from typing import Literal

from .base import Record, Timestamp
from .finding import Finding, Layer, Rung

VerdictKind = Literal["PASS", "FAIL", "HUNG", "UNPROVEN", "UNSUPPORTED", "SKIPPED", "KNOWN_ISSUE"]


class Evidence(Record, kw_only=True, frozen=True):
    """One claim, whether it holds, and the line that shows it."""

    claim: str
    holds: bool | None
    """None: the files cannot tell."""
    says: str
    """One sentence with the figures."""
    file: str | None = None
    """Relative to the run's folder."""
    line: int | None = None
    sha256: str | None = None
    """Digest of that file."""


class Device(Record, kw_only=True, frozen=True):
    """What one rank of one site ran on."""

    site: str
    rank: int
    device: str
    """``cuda:0`` as the rank itself counts, or ``cpu``."""
    uuid: str | None = None
    name: str | None = None
    mean_utilisation: float | None = None
    """Percent, mean of the samples in which this rank held memory on it."""
    peak_memory_mib: int | None = None
    """Most memory that this rank held on it."""


class JobRound(Record, kw_only=True, frozen=True):
    """One site's round as its rank 0 told it."""

    round: int
    site: str
    loss: float | None
    metrics: dict[str, float]
    """Of the received global model, on held-out data."""
    samples: int
    seconds: float
    bytes_in: int | None = None
    bytes_out: int | None = None
    """Size of the weights that the site received, and of those that it sent."""


class VerdictRecord(Record, kw_only=True, frozen=True):
    """The verdict on one run of one job on one host."""

    schema: Literal["rekindle/verdict/1"] = "rekindle/verdict/1"
    job: str
    host: str
    verdict: VerdictKind
    host_says: VerdictKind | None = None
    """What the host itself made of the run, of which nothing is taken; None for a verdict given there."""
    required: bool = True
    """Whether a run that lacks this PASS has not passed."""
    cause: str | None
    """One sentence; None for PASS."""
    remedy: str | None
    """One sentence; None for PASS."""
    layer: Layer | None = None
    """Where the cause lies, if the doctor knows it."""
    findings: tuple[Finding, ...] = ()
    """The root cause first, then its echoes."""
    rungs: tuple[Rung, ...] = ()
    """The blame ladder of a job that failed, from the bottom up."""
    known_issue: str | None = None
    """Name of the known issue that applies here, also when the job passed in spite of it."""
    evidence: tuple[Evidence, ...]
    started: Timestamp | None
    duration_s: float | None
    lock_sha256: str | None
    """Lock of the environment that the job ran in."""
    versions: dict[str, str]
    """Of the packages that matter to the result: python, torch, nvflare …"""
    devices: tuple[Device, ...]
    rounds: tuple[JobRound, ...]
    final_metrics: dict[str, float] = {}
    """Of the final global model, on held-out data."""
    host_memory_mib: dict[str, int] = {}
    """Peak of NVFlare's own processes: ``server``, and each client by its site's name."""

    @property
    def contradiction(self) -> str | None:
        """One sentence where the host says something else."""
        if self.host_says in {None, self.verdict}:
            return None
        return f"The host itself says {self.host_says}, and its files do not show it."

    @property
    def blamed(self) -> Rung | None:
        """The lowest rung of the blame ladder that fails."""
        return next((rung for rung in self.rungs if rung.holds is False), None)
